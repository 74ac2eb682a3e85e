import AdapterKit

/// The latest observation of a station: a mirror of what the weather service has.
enum Observation {
    static let entityName: EntityName = "observations"

    static let entity = Entity(
        entityName, summary: "The latest observation of a station.", key: EntityKey(Fields.station, chosenBy: .caller),
        fields: [
            Field(Fields.station, .string(maximumLength: 64), isRequired: true, summary: "As the service names it."),
            Field(Fields.region, .string(maximumLength: 64), isRequired: true),
            Field(Fields.place, .string(maximumLength: 200), defaultValue: ""),
            Field(Fields.temperature, .double, isNullable: true, summary: "In degrees Celsius."),
            Field(Fields.wind, .double, isNullable: true, summary: "In metres per second."),
            Field(Fields.observed, .date, isNullable: true),
        ],
        indexes: [Index([Fields.region, Fields.observed])],
        rows: RowRules(
            read: .memberOf(Region.entityName, through: Fields.region, members: Region.Fields.followers),
            write: .nobody))

    enum Fields {
        static let station: FieldName = "station"
        static let region: FieldName = "region"
        static let place: FieldName = "place"
        static let temperature: FieldName = "temperature"
        static let wind: FieldName = "wind"
        static let observed: FieldName = "observed"
    }
}
