package render

// A Migration is a level: all migrations up to and including the one of that name are applied.
type Migration string

// The levels, in order. "" is MigrateNone.
const (
	MigrateNone          Migration = "none"
	MigrateToCSVMetadata Migration = "bundle-object-to-csv-metadata" // see [bundle.MigrateToCSVMetadata]
	MigrateAll           Migration = "all"
	lastMigration                  = MigrateToCSVMetadata
)

// Migrations returns all levels.
func Migrations() []Migration { return []Migration{MigrateNone, MigrateToCSVMetadata, MigrateAll} }
