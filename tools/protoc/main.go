// Command protoc generates the Go code for one .proto file, in the same directory, with the plugins that tools/go.mod
// pins. It replaces protoc, and works on every machine with Go.
//
//	go -C tools run ./protoc ../pkg/api/registry.proto
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// plugins are the tools that generate code, as protoc runs them.
var plugins = []string{"protoc-gen-go", "protoc-gen-go-grpc"}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: protoc FILE.proto")
	}
	if err := generate(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func generate(path string) error {
	req, err := compile(path)
	if err != nil {
		return err
	}
	for _, plugin := range plugins {
		if err := run(plugin, req, filepath.Dir(path)); err != nil {
			return fmt.Errorf("%s: %w", plugin, err)
		}
	}
	return nil
}

// compile returns the request for plugins: the descriptors of the file and of all its imports.
func compile(path string) ([]byte, error) {
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
			ImportPaths: []string{filepath.Dir(path)},
		}),
		SourceInfoMode: protocompile.SourceInfoStandard, // comments are copied to the code
	}
	files, err := compiler.Compile(context.Background(), filepath.Base(path))
	if err != nil {
		return nil, err
	}
	req := &pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{files[0].Path()},
		Parameter:      proto.String("paths=source_relative"),
		ProtoFile:      descriptors(files[0]),
	}
	return proto.Marshal(req)
}

// descriptors returns the descriptors of the imports of f, each before its importers, and of f itself.
func descriptors(f protoreflect.FileDescriptor) []*descriptorpb.FileDescriptorProto {
	var all []*descriptorpb.FileDescriptorProto
	seen := map[string]bool{}
	var add func(protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		all = append(all, protoutil.ProtoFromFileDescriptor(f))
	}
	add(f)
	return all
}

// run runs a plugin with a request, and writes the generated files to dir.
func run(plugin string, req []byte, dir string) error {
	cmd := exec.Command("go", "tool", plugin)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(req), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	var resp pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &resp); err != nil {
		return err
	}
	if resp.GetError() != "" {
		return errors.New(resp.GetError())
	}
	for _, f := range resp.GetFile() {
		if err := os.WriteFile(filepath.Join(dir, f.GetName()), []byte(f.GetContent()), 0o666); err != nil {
			return err
		}
	}
	return nil
}
