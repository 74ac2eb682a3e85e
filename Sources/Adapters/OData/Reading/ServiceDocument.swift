import AdapterKit
import ODataLanguage
import ODataModel
import WireFormats

/// The service document and the model (JSON Format 4.01, section 5; Protocol 4.01, section 11.1).
struct ServiceDocuments: Sendable {
    let model: EntityDataModel
    /// `Core.SchemaVersion`
    private let version: String?
    /// By version of the protocol.
    private let documents: [String: (xml: [UInt8], json: [UInt8])]
    /// The model as version 2's clients read it.
    let version2: [UInt8]

    /// `isSearched`: whether some of its sets can be searched.
    init(_ model: EntityDataModel, isSearched: Bool) {
        self.model = model
        version = Self.version(model)
        let document = ApplySupport(ChangeTracking(model).document, isSearched: isSearched).document
        var documents: [String: (xml: [UInt8], json: [UInt8])] = [:]
        for version in ["4.0", "4.01"] {
            let told = document.told(in: version)
            documents[version] = (Array(told.xmlText.utf8), (try? JSONFormat().write(told.jsonValue)) ?? [])
        }
        self.documents = documents
        version2 = model.version2Document
    }

    /// `$schemaversion` names this model, or any. Throws `record.notFound` for another (Protocol 4.01, section 11.2.12).
    func checkVersion(of target: RequestTarget) throws(PorticoError) {
        for option in target.options {
            guard case .schemaVersion(let wanted) = option.form, wanted != "*", wanted != version else { continue }
            throw PorticoError(
                .recordNotFound, "There is no version \(wanted) of this model.", target: "$schemaversion")
        }
    }

    private static func version(_ model: EntityDataModel) -> String? {
        for schema in model.document.first("DataServices")?.all("Schema") ?? [] {
            for annotation in schema.all("Annotation") {
                guard let term = annotation["Term"].flatMap({ QualifiedName($0) }).map(model.resolve),
                    "\(term)" == "Org.OData.Core.V1.SchemaVersion"
                else { continue }
                return annotation["String"] ?? annotation.first("String")?.text
            }
        }
        return nil
    }

    func service(_ format: ResponseFormat, root: String) -> [UInt8] {
        var output = JSONOutput()
        output.beginObject()
        if format.metadata != .none { output.member("@odata.context", "\(root)$metadata") }
        output.key("value")
        output.beginArray()
        let container = model.container
        for set in container.entitySets where set.includedInServiceDocument { item(set.name, "EntitySet", to: &output) }
        for singleton in container.singletons { item(singleton.name, "Singleton", to: &output) }
        for function in container.functionImports where function.includedInServiceDocument {
            item(function.name, "FunctionImport", to: &output)
        }
        output.endArray()
        output.endObject()
        return output.bytes
    }

    private func item(_ name: String, _ kind: String, to output: inout JSONOutput) {
        output.beginObject()
        output.member("name", name)
        output.member("kind", kind)
        output.member("url", name)
        output.endObject()
    }

    /// XML, unless JSON is asked for. The document says which version it is told in (CSDL 4.01, section 3.1).
    func metadata(
        format: String?, accept: String?, version: String
    ) throws(PorticoError) -> (body: [UInt8], type: String) {
        let (xml, json) = documents[version] ?? ([], [])
        let wanted = format ?? accept ?? "application/xml"
        for piece in wanted.split(separator: ",") {
            let type = piece.prefix { $0 != ";" }.filter { $0 != " " }.lowercased()
            switch type {
            case "application/xml", "xml", "application/*", "*/*", "text/xml": return (xml, "application/xml")
            case "application/json", "json": return (json, "application/json")
            default: continue
            }
        }
        throw PorticoError(.notAcceptable, "The model can be had as application/xml and application/json.")
    }
}

extension CSDLElement {
    /// With this version of the protocol at its root.
    fileprivate func told(in version: String) -> CSDLElement {
        var element = self
        element.attributes.removeAll { $0.name == "Version" }
        element.attributes.append(.init("Version", version))
        return element
    }
}
