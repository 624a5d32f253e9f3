package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/opm-toolchain/opm/pkg/api"
)

// wire is the protocol that all its clients and servers share: names, numbers and types.
const wire = `
Bundle: csvName 1 string, packageName 2 string, channelName 3 string, csvJson 4 string, object 5 string*, bundlePath 6 string, providedApis 7 GroupVersionKind*, requiredApis 8 GroupVersionKind*, version 9 string, skipRange 10 string, dependencies 11 Dependency*, properties 12 Property*, replaces 13 string, skips 14 string*, deprecation 15 Deprecation
Channel: name 1 string, csvName 2 string, deprecation 3 Deprecation
ChannelEntry: packageName 1 string, channelName 2 string, bundleName 3 string, replaces 4 string
Dependency: type 1 string, value 2 string
Deprecation: message 1 string
ExperimentalListPackageCustomSchemasRequest: schema 1 string, packageName 2 string
GetAllProvidersRequest: group 1 string, version 2 string, kind 3 string, plural 4 string
GetAllReplacementsRequest: csvName 1 string
GetBundleInChannelRequest: pkgName 1 string, channelName 2 string
GetBundleRequest: pkgName 1 string, channelName 2 string, csvName 3 string
GetDefaultProviderRequest: group 1 string, version 2 string, kind 3 string, plural 4 string
GetLatestProvidersRequest: group 1 string, version 2 string, kind 3 string, plural 4 string
GetPackageRequest: name 1 string
GetReplacementRequest: csvName 1 string, pkgName 2 string, channelName 3 string
GroupVersionKind: group 1 string, version 2 string, kind 3 string, plural 4 string
ListBundlesRequest:
ListPackageRequest:
Package: name 1 string, channels 2 Channel*, defaultChannelName 3 string, deprecation 4 Deprecation
PackageName: name 1 string
Property: type 1 string, value 2 string
api.ExperimentalRegistry/ExperimentalListPackageCustomSchemas(ExperimentalListPackageCustomSchemasRequest) Struct*
api.Registry/GetBundle(GetBundleRequest) Bundle
api.Registry/GetBundleForChannel(GetBundleInChannelRequest) Bundle
api.Registry/GetBundleThatReplaces(GetReplacementRequest) Bundle
api.Registry/GetChannelEntriesThatProvide(GetAllProvidersRequest) ChannelEntry*
api.Registry/GetChannelEntriesThatReplace(GetAllReplacementsRequest) ChannelEntry*
api.Registry/GetDefaultBundleThatProvides(GetDefaultProviderRequest) Bundle
api.Registry/GetLatestChannelEntriesThatProvide(GetLatestProvidersRequest) ChannelEntry*
api.Registry/GetPackage(GetPackageRequest) Package
api.Registry/ListBundles(ListBundlesRequest) Bundle*
api.Registry/ListPackages(ListPackageRequest) PackageName*
`

// TestWire checks that the protocol is the same as upstream's.
func TestWire(t *testing.T) {
	var got []string
	messages := api.File_registry_proto.Messages()
	for i := range messages.Len() {
		got = append(got, message(messages.Get(i)))
	}
	services := api.File_registry_proto.Services()
	for i := range services.Len() {
		got = append(got, methods(services.Get(i))...)
	}
	slices.Sort(got)
	want := strings.Split(strings.TrimSpace(wire), "\n")
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("has\n\t%s", line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("has not\n\t%s", line)
		}
	}
}

func message(m protoreflect.MessageDescriptor) string {
	var fields []string
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		kind := f.Kind().String()
		if f.Message() != nil {
			kind = string(f.Message().Name())
		}
		if f.IsList() {
			kind += "*"
		}
		fields = append(fields, fmt.Sprintf("%s %d %s", f.Name(), f.Number(), kind))
	}
	return strings.TrimSpace(fmt.Sprintf("%s: %s", m.Name(), strings.Join(fields, ", ")))
}

func methods(s protoreflect.ServiceDescriptor) []string {
	var all []string
	for i := range s.Methods().Len() {
		m := s.Methods().Get(i)
		line := fmt.Sprintf("%s/%s(%s) %s", s.FullName(), m.Name(), m.Input().Name(), m.Output().Name())
		if m.IsStreamingServer() {
			line += "*"
		}
		all = append(all, line)
	}
	return all
}
