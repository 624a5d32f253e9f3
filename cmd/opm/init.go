package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/icon"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

func initCmd() *cobra.Command {
	var channel, iconFile, descriptionFile, format string
	cmd := &cobra.Command{
		Use:   "init PACKAGE",
		Short: "Print the olm.package that a new package of a catalog begins with",
		Long: `Print an object of schema olm.package. Its name and default channel are taken as they are
given; opm validate tells whether they fit the rest of the catalog. The icon is an image in a
format that its content gives away.`,
		Example: `  opm init my-operator --default-channel stable > catalog/my-operator.json
  opm init my-operator -c stable -d README.md -i icon.svg -o yaml`,
		Args:              exactArgs("PACKAGE"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if args[0] == "" {
				return usageError{errors.New("the package has no name")}
			}
			p := &declcfg.Package{Schema: declcfg.SchemaPackage, Name: args[0], DefaultChannel: channel}
			if p.Description, err = readDescription(descriptionFile); err != nil {
				return err
			}
			if p.Icon, err = readIcon(iconFile); err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(declcfg.Format(format).Append(nil, p))
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&channel, "default-channel", "c", "", "`CHANNEL` for users who name none")
	flags.StringVarP(&iconFile, "icon", "i", "", "take the icon from the image in `FILE`")
	flags.StringVarP(&descriptionFile, "description", "d", "", "take the description from the text in `FILE`")
	addFormatFlag(cmd, &format)
	completeNothing(cmd, "default-channel")
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
