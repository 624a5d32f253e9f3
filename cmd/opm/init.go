package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/icon"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

func initCmd() *cobra.Command {
	var channel, iconFile, descriptionFile, output string
	cmd := &cobra.Command{
		Use:   "init PACKAGE",
		Short: "Print an olm.package to begin a catalog with",
		Example: `  opm init my-operator --default-channel stable > catalog/my-operator.json
  opm init my-operator -c stable -d README.md -i icon.svg -o yaml`,
		Args: exactArgs("PACKAGE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			format, err := parseFormat(output)
			if err != nil {
				return err
			}
			p := &declcfg.Package{Schema: declcfg.SchemaPackage, Name: args[0], DefaultChannel: channel}
			if p.Description, err = readDescription(descriptionFile); err != nil {
				return err
			}
			if p.Icon, err = readIcon(iconFile); err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(format.Append(nil, p))
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&channel, "default-channel", "c", "", "the channel that users get who name none")
	flags.StringVarP(&iconFile, "icon", "i", "", "path of an image file")
	flags.StringVarP(&descriptionFile, "description", "d", "", "path of a file with the description, such as README.md")
	addOutputFlag(cmd, &output)
	return cmd
}

func readDescription(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("read the description: %w", err)
	}
	return string(text), nil
}

// readIcon reads an image file. Its type is that of its content, whatever its name says.
func readIcon(name string) (*declcfg.Icon, error) {
	if name == "" {
		return nil, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the icon: %w", err)
	}
	mediaType := icon.Type(data)
	if mediaType == "" {
		return nil, fmt.Errorf("read the icon: %s is no image of a known type", name)
	}
	return &declcfg.Icon{Data: data, MediaType: mediaType}, nil
}
