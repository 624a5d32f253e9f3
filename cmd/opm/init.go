package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/completion"
	"github.com/opm-toolchain/opm/internal/icon"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

func initCmd() *cobra.Command {
	var channel, iconFile, descriptionFile string
	var format declcfg.Format
	return command{
		Use:   "init PACKAGE",
		Short: "Print the olm.package object of a new package",
		Long: `Print an object of schema olm.package. The name and the default channel are not checked against
a catalog; opm validate does that. The media type of the icon is detected from its content.`,
		Example: `  opm init my-operator --default-channel stable > catalog/my-operator.json
  opm init my-operator -c stable -d README.md -i icon.svg -o yaml`,
		complete: cobra.NoFileCompletions,
		flags: func(cmd *cobra.Command) {
			flags := cmd.Flags()
			flags.StringVarP(&channel, "default-channel", "c", "", "default `CHANNEL` of the package")
			flags.StringVarP(&iconFile, "icon", "i", "", "image `FILE` with the icon")
			flags.StringVarP(&descriptionFile, "description", "d", "", "text `FILE` with the description")
			addFormatFlag(cmd, &format)
			completion.Nothing(cmd, "default-channel")
		},
		run: func(_ *cobra.Command, args []string) (_ *output.Result, err error) {
			if args[0] == "" {
				return nil, cmdline.Errorf("the package name is empty")
			}
			p := &declcfg.Package{Schema: declcfg.SchemaPackage, Name: args[0], DefaultChannel: channel}
			if descriptionFile != "" {
				text, err := regular.ReadNamed(descriptionFile)
				if err != nil {
					return nil, fmt.Errorf("read the description: %w", err)
				}
				p.Description = string(text)
			}
			if p.Icon, err = readIcon(iconFile); err != nil {
				return nil, err
			}
			return output.Bytes(format.Append(nil, p), nil)
		},
	}.cobra()
}

// readIcon reads an image file. The content determines the media type, not the file name.
func readIcon(name string) (*declcfg.Icon, error) {
	if name == "" {
		return nil, nil
	}
	data, err := regular.ReadNamed(name)
	if err != nil {
		return nil, fmt.Errorf("read the icon: %w", err)
	}
	mediaType := icon.Type(data)
	if mediaType == "" {
		return nil, fmt.Errorf("read the icon: %s is not an image of a known type", name)
	}
	return &declcfg.Icon{Data: data, MediaType: mediaType}, nil
}
