// Command sbom writes the bill of materials of each program, in CycloneDX JSON: the modules that the program was built
// from. The file for PROGRAM is PROGRAM.sbom.json. The same program always gives the same file.
//
//	go -C tools run ./sbom VERSION PROGRAM...
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime/debug"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 3 {
		log.Fatal("usage: sbom VERSION PROGRAM...")
	}
	for _, program := range os.Args[2:] {
		if err := write(program, os.Args[1]); err != nil {
			log.Fatalf("sbom: %s: %v", program, err)
		}
	}
}

func write(program, version string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	f, err := os.Create(program + ".sbom.json")
	if err != nil {
		return err
	}
	bom := describe(info, version)
	bom.Metadata.Component.Name = filepath.Base(program)
	bom.Metadata.Component.Hashes = &[]cdx.Hash{
		{Algorithm: cdx.HashAlgoSHA256, Value: fmt.Sprintf("%x", sha256.Sum256(content))},
	}
	err = cdx.NewBOMEncoder(f, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	return errors.Join(err, f.Close())
}

// describe lists the modules of a program: the main one, Go's library, and its dependencies.
func describe(info *buildinfo.BuildInfo, version string) *cdx.BOM {
	opm := module(cdx.ComponentTypeApplication, info.Main.Path, version)
	parts := []cdx.Component{module(cdx.ComponentTypeLibrary, "std", info.GoVersion)}
	for _, m := range info.Deps {
		parts = append(parts, module(cdx.ComponentTypeLibrary, effective(m).Path, effective(m).Version))
	}
	refs := make([]string, len(parts))
	for i, p := range parts {
		refs[i] = p.BOMRef
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &opm}
	bom.Components = &parts
	bom.Dependencies = &[]cdx.Dependency{{Ref: opm.BOMRef, Dependencies: &refs}}
	return bom
}

// effective returns the replacement of a module, or the module itself if it is not replaced.
func effective(m *debug.Module) *debug.Module {
	if m.Replace != nil {
		return m.Replace
	}
	return m
}

// module returns a component that is identified by its package URL; see https://github.com/package-url/purl-spec.
func module(kind cdx.ComponentType, path, version string) cdx.Component {
	url := "pkg:golang/" + path + "@" + version
	return cdx.Component{BOMRef: url, Type: kind, Name: path, Version: version, PackageURL: url}
}
