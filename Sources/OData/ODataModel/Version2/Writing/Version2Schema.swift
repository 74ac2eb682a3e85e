/// Namespace names of version 2's documents ([MS-ODATA], section 2.2.6; SAP's annotations for OData 2.0).
public enum Version2Namespace {
    public static let edmx = "http://schemas.microsoft.com/ado/2007/06/edmx"
    public static let edm = "http://schemas.microsoft.com/ado/2008/09/edm"
    public static let metadata = CSDLNamespace.metadata2
    public static let data = "http://schemas.microsoft.com/ado/2007/08/dataservices"
    public static let sap = "http://www.sap.com/Protocols/SAPData"
}

extension EntityDataModel {
    /// The model as an EDMX document of version 1.0, which is what version 2's `$metadata` is: from a model of any
    /// version. What version 2 has no word for is told by the nearest it has (``Version2Shape``) or left out: singletons,
    /// operations bound to entities, overloads but the first, streams of a property.
    public var version2Document: [UInt8] {
        let associations = Version2Associations(self)
        var output = XMLOutput(capacity: 32_768)
        output.begin(
            "edmx:Edmx",
            [
                ("Version", "1.0"), ("xmlns:edmx", Version2Namespace.edmx), ("xmlns:m", Version2Namespace.metadata),
                ("xmlns:sap", Version2Namespace.sap),
            ])
        output.begin("edmx:DataServices", [("m:DataServiceVersion", "2.0")])
        for namespace in namespaces {
            Version2SchemaWriter(model: self, associations: associations, namespace: namespace).write(to: &output)
        }
        output.end()
        output.end()
        return output.bytes
    }

    /// Entity types and complex types of a schema, in the order of the document.
    func structuredTypes(in namespace: String) -> [StructuredType] {
        let schemas = document.first("DataServices")?.all("Schema") ?? []
        return schemas.filter { $0["Namespace"] == namespace }.flatMap(\.children)
            .filter { $0.name == "EntityType" || $0.name == "ComplexType" }
            .compactMap { $0["Name"].flatMap { structured(QualifiedName(namespace, $0)) } }
    }
}

/// One schema: its types, associations, and the container where it is the container's.
struct Version2SchemaWriter {
    let model: EntityDataModel
    let associations: Version2Associations
    let namespace: String

    func write(to output: inout XMLOutput) {
        output.begin(
            "Schema",
            [
                ("Namespace", namespace), ("xmlns", Version2Namespace.edm), ("xml:lang", "en"),
                ("sap:schema-version", "1"),
            ])
        let types = Version2TypeWriter(model: model, associations: associations)
        let structured = model.structuredTypes(in: namespace)
        for type in structured where type.isEntity { types.write(type, to: &output) }
        for type in structured where !type.isEntity { types.write(type, to: &output) }
        for association in associations.all where association.name.namespace == namespace {
            association.write(to: &output)
        }
        if model.container.name.namespace == namespace {
            Version2ContainerWriter(model: model, associations: associations).write(to: &output)
        }
        output.end()
    }
}
