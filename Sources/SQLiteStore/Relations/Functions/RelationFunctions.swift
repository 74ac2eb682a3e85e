import GRDB

/// The functions that compiled relations call, one list for each thing that they are about.
enum RelationFunctions {
    static func register(on database: Database) throws {
        let functions =
            DecimalFunctions.all + DoubleFunctions.all + TextFunctions.all + CalendarFunctions.all
            + ConversionFunctions.all + TreeFunctions.all + GeographyFunctions.all
        for function in functions { try function.register(on: database) }
        try DecimalAggregate.register(on: database)
    }
}
