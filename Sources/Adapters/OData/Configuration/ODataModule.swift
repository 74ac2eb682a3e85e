import AdapterKit

/// OData 4: entities of which a CSDL document tells everything (docs/adapters/odata.md).
public enum ODataModule: AdapterModule {
    public static let name: AdapterName = "odata"

    public static let options =
        [
            ConfigurationOption(
                "services.*.model", .string,
                summary: "The CSDL document, beside the configuration: XML of 4.0 or 4.01, JSON, or EDMX of version 2."),
            ConfigurationOption(
                "services.*.sapName", .string,
                summary:
                    "The name on SAP's paths, `/sap/opu/odata/sap/NAME`; the model's namespace where nothing is said."),
            ConfigurationOption(
                "services.*.access", .access, summary: "Who may call; without it, what adapters.odata.access says."),
            ConfigurationOption(
                "services.*.pageSize", .integer(IntegerRange(1...10_000)),
                summary: "Entities of one answer; the next ones are linked. 100 where nothing is said."),
            ConfigurationOption(
                "services.*.seed", .string,
                summary: "A JSON document with rows for sets by name, loaded when the service has none."),
            ConfigurationOption(
                "services.*.samples", .integer(IntegerRange(0...1_000_000)),
                summary:
                    "Generated students of the demonstration's model, the rest in proportion; 100000 where nothing is said."
            ),
            ConfigurationOption(
                "services.*.search", .list(of: .string), summary: "Properties that $search looks at: `Products/Name`."),
            ConfigurationOption(
                "services.*.unique", .list(of: .string),
                summary: "Properties whose values are there once: `Products/Name`."
            ),
            ConfigurationOption(
                "services.*.indexes", .textLists,
                summary:
                    "Properties by which pages are ordered and filtered fast: `Students/LastName`; several for one index as a list, `[Students/SchoolID, Students/GPA]`. Made and dropped at the start."
            ),
            ConfigurationOption(
                "services.*.discriminators", .list(of: .string),
                summary: "Properties that hold the simple name of their entity's type: `Products/Kind`."),
            ConfigurationOption(
                "services.*.conflicts", .choice(["merge", "reject", "lastWriterWins"]),
                summary: "How changes that did not know of each other are settled; merge where nothing is said."),
        ] + ServiceLimits.options

    public static func declare(_ configuration: AdapterConfiguration) throws -> AdapterDeclaration {
        let services = try ServiceConfiguration.all(configuration)
        return AdapterDeclaration(
            name: name, title: "OData", summary: "Entities over OData 4.01, as a model describes them.",
            version: "1.0", access: ServiceConfiguration.widestAccess(services),
            entities: services.flatMap(\.entities), operations: [ImportRows.operation],
            mounts: services.flatMap(\.mounts), rules: ServiceRules(services))
    }

    public static func make(_ configuration: AdapterConfiguration) throws -> any Adapter {
        ODataAdapter(
            services: try ServiceConfiguration.all(configuration),
            limits: ServiceLimits(configuration["limits"]?.dictionaryValue ?? [:]))
    }
}
