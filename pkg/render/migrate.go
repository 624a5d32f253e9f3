package render

// A Migration is a level that bundles are brought to, by all migrations up to and including the one of that name.
type Migration string

// The migrations, in their order. "" is MigrateNone.
const (
	MigrateNone          Migration = "none"
	MigrateToCSVMetadata Migration = "bundle-object-to-csv-metadata" // see [bundle.MigrateToCSVMetadata]
	MigrateAll           Migration = "all"
	lastMigration                  = MigrateToCSVMetadata
)

// Migrations returns the names of all, as the command line knows them.
func Migrations() []string {
	return []string{string(MigrateNone), string(MigrateToCSVMetadata), string(MigrateAll)}
}
