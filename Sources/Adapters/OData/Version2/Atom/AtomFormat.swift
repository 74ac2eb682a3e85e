import AdapterKit
import ODataEngine
import ODataModel
import WireFormats

/// Version 2's first format ([MS-ODATA], section 2.2.6.2; RFC 4287, RFC 5023; SAP's error document):
///
///     <feed>    <id/> <title/> <updated/> <author/> <link rel="self"/> <m:count/> <entry/>… <link rel="next"/>
///     <entry m:etag>  <id/> <title/> <updated/> <author/> <category term="Namespace.Type"/> <link rel="edit"/>
///               <link rel="…/related/Name"> <m:inline> a feed or an entry </m:inline> </link>…
///               <content type="application/xml"> <m:properties> <d:Name m:type m:null/>… </m:properties> </content>
///     <d:Name>  a property alone      <links> <uri/>… </links>, <uri>  addresses      <app:service>  the sets
///     <error>   <code/> <message xml:lang/> <innererror/>
///
/// An entry that was deleted is a tombstone (RFC 6721). Bodies are read by the gateway's own XML reader.
struct AtomFormat: Version2Format {
    func isNamed(_ name: String) -> Bool {
        let type = name.mediaTypeName
        return type == "atom" || type == "xml" || takes(type)
    }

    func takes(_ mediaType: String) -> Bool {
        switch mediaType {
        case "application/atom+xml", "application/xml", "text/xml", "application/atomsvc+xml": true
        default: false
        }
    }

    func document(_ content: Version2Content, in scope: Version2Scope) throws(PorticoError) -> Version2Document {
        var output = XMLOutput(capacity: 4_096)
        let type = write(content, scope, to: &output)
        guard output.isRepresentable else { throw Self.notRepresentable }
        return Version2Document(mediaType: type, bytes: output.bytes)
    }

    static let notRepresentable = PorticoError(
        .notRepresentable, "A text has a character that XML cannot carry. JSON can.")

    var feedType: String { AtomType.feed }

    func rows(_ level: Version2Level, _ model: EntityDataModel) -> any Version2Rows { AtomRows(level, model: model) }

    func document(_ failure: Version2Error) -> Version2Document {
        var output = XMLOutput(capacity: 1_024)
        AtomDocuments.error(failure, to: &output)
        if !output.isRepresentable {
            // The message repeats something that was sent, with a character that XML cannot carry.
            output = XMLOutput(capacity: 1_024)
            let plain = PorticoError(failure.error.code, "The request cannot be answered.")
            AtomDocuments.error(Version2Error(error: plain, requestID: failure.requestID), to: &output)
        }
        return Version2Document(mediaType: AtomType.xml, bytes: output.bytes)
    }

    /// The media type.
    private func write(_ content: Version2Content, _ scope: Version2Scope, to output: inout XMLOutput) -> String {
        switch content {
        case .nothing, .raw, .stored, .written: return AtomType.xml
        case .service(let sets):
            AtomDocuments.service(sets, scope, to: &output)
            return AtomType.service
        case .feed(let feed):
            AtomWriter(scope).write(feed, to: &output)
            return AtomType.feed
        case .entry(let entry):
            AtomWriter(scope).write(entry, to: &output)
            return AtomType.entry
        case .property(let property):
            AtomValues(model: scope.model).document(property, to: &output)
            return AtomType.xml
        case .links(let links):
            AtomDocuments.links(links, to: &output)
            return AtomType.xml
        }
    }

    func entity(
        _ body: [UInt8], of type: StructuredType, in scope: Version2Scope
    ) throws(PorticoError) -> WrittenEntity {
        let root = try AtomBody.root(body)
        guard root.is("entry", in: AtomName.atom) else {
            throw PorticoError(.requestInvalid, "The body is an entry of Atom.")
        }
        return try AtomReader(model: scope.model).entity(root, of: type)
    }

    func property(
        _ body: [UInt8], _ name: String, _ type: TypeReference, in scope: Version2Scope
    ) throws(PorticoError) -> WireValue {
        let root = try AtomBody.root(body)
        guard root.is(name, in: Version2Namespace.data) else {
            throw PorticoError(.requestInvalid, "The body is the element \(name).", target: name)
        }
        return try AtomReader(model: scope.model).value(root, type, at: name)
    }

    func link(_ body: [UInt8]) throws(PorticoError) -> String {
        let root = try AtomBody.root(body)
        let address = root.text.filter { !$0.isWhitespace }
        guard root.is("uri", in: Version2Namespace.data), !address.isEmpty else {
            throw PorticoError(.requestInvalid, "The body is the element uri with an entity's address.")
        }
        return address
    }
}

/// The media types of its documents.
enum AtomType {
    static let xml = "application/xml;charset=utf-8"
    static let service = "application/atomsvc+xml;charset=utf-8"
    static let feed = "application/atom+xml;type=feed;charset=utf-8"
    static let entry = "application/atom+xml;type=entry;charset=utf-8"
}

enum AtomName {
    static let atom = "http://www.w3.org/2005/Atom"
    static let publishing = "http://www.w3.org/2007/app"
    static let tombstones = "http://purl.org/atompub/tombstones/1.0"
    /// What a category's term is: a type of the model.
    static let scheme = "http://schemas.microsoft.com/ado/2007/08/dataservices/scheme"
    /// In front of a navigation property's name, as a link's relation.
    static let related = "http://schemas.microsoft.com/ado/2007/08/dataservices/related/"
}

/// Parses a request's body as XML. Malformed XML and DOCTYPEs are rejected.
enum AtomBody {
    static func root(_ body: [UInt8]) throws(PorticoError) -> XMLElement {
        do {
            return try XMLElement(xml: body)
        } catch {
            let entityPath = error.position?.line.map { " (line \($0))" } ?? ""
            throw PorticoError(.requestMalformed, "The body is no XML: \(error.message)\(entityPath).")
        }
    }
}

/// Reads entries from request bodies. Throws `request.invalid` with the property at fault as the target.
struct AtomReader {
    let model: EntityDataModel
    private var form: Version2ValueCodec { Version2ValueCodec(model: model) }

    func entity(_ entry: XMLElement, of declared: StructuredType) throws(PorticoError) -> WrittenEntity {
        var entity = WrittenEntity()
        entity.typeName = entry.all("category", in: AtomName.atom)
            .first { $0.attribute("scheme") == AtomName.scheme }?.attribute("term")
        let named = entity.typeName.flatMap { QualifiedName($0) }.map(model.resolve)
        let type = named.flatMap { model.structured($0) } ?? declared
        for property in Self.properties(of: entry) where property.namespace == Version2Namespace.data {
            entity.properties[property.name] = try value(property, type)
        }
        for link in entry.all("link", in: AtomName.atom) { try read(link, type, into: &entity) }
        return entity
    }

    /// Inside of `content`, or beside it where the content is a stream.
    private static func properties(of entry: XMLElement) -> [XMLElement] {
        let content = entry.first("content", in: AtomName.atom)
        let found =
            content?.first("properties", in: Version2Namespace.metadata)
            ?? entry.first("properties", in: Version2Namespace.metadata)
        return found?.children ?? []
    }

    /// What the type does not know is left to those who say so.
    private func value(_ element: XMLElement, _ type: StructuredType) throws(PorticoError) -> WireValue {
        guard let property = type.property(element.name) else {
            return Self.isNull(element) ? .null : .string(element.text)
        }
        return try value(element, property.type, at: property.name)
    }

    /// In the terms of version 4's JSON.
    func value(_ element: XMLElement, _ type: TypeReference, at path: String) throws(PorticoError) -> WireValue {
        if type.isCollection {
            let items = element.all("element", in: Version2Namespace.data)
            if !items.isEmpty {
                return .array(try items.map { item throws(PorticoError) in try value(item, type.item, at: path) })
            }
            if Self.isNull(element) || element.text.allSatisfy(\.isWhitespace) { return [] }
        }
        if Self.isNull(element) { return .null }
        switch model.version2Shape(of: type) {
        case .simple(let simple):
            // White space around what is no text counts for nothing (XML Schema, part 2, section 4.3.6).
            let text = simple == .string ? element.text : element.text.trimmingXMLSpace
            guard let value = form.value(text: text, type) else { throw Self.wrong(type, path, model) }
            return form.version4(value, type)
        case .complex(let name): return try complex(element, name, at: path)
        case .document: return try form.value(document: element.text, at: path)
        }
    }

    private func complex(
        _ element: XMLElement, _ name: QualifiedName, at path: String
    ) throws(PorticoError) -> WireValue {
        var members = WireDictionary()
        let sent = element.attribute("type", in: Version2Namespace.metadata).flatMap { QualifiedName($0) }
        let actual = sent.map(model.resolve) ?? name
        if actual != name { members["@odata.type"] = .string("#\(actual)") }
        for child in element.children where child.namespace == Version2Namespace.data {
            let property = model.structured(actual)?.property(child.name)
            members[child.name] =
                try property.map { property throws(PorticoError) in
                    try value(child, property.type, at: "\(path)/\(child.name)")
                } ?? .string(child.text)
        }
        return .dictionary(members)
    }

    private static func isNull(_ element: XMLElement) -> Bool {
        element.attribute("null", in: Version2Namespace.metadata) == "true"
    }

    private static func wrong(_ type: TypeReference, _ path: String, _ model: EntityDataModel) -> PorticoError {
        .ofOtherVersion2Type(type, model, at: path)
    }

    /// Entities inside of a link are created with the entry; an entity's address is bound. The address of the navigation
    /// property itself, as answers have it, says nothing.
    private func read(_ link: XMLElement, _ type: StructuredType, into entity: inout WrittenEntity) throws(PorticoError)
    {
        guard let relation = link.attribute("rel"), relation.hasPrefix(AtomName.related) else { return }
        let name = String(relation.dropFirst(AtomName.related.count))
        if let inline = link.first("inline", in: Version2Namespace.metadata) {
            let target = type.navigation(name).flatMap { model.structured($0.target) } ?? type
            let entries =
                inline.all("entry", in: AtomName.atom)
                + inline.all("feed", in: AtomName.atom).flatMap { $0.all("entry", in: AtomName.atom) }
            for entry in entries { entity.nested[name, default: []].append(try self.entity(entry, of: target)) }
        } else if let address = link.attribute("href"), address.split(separator: "/").last.map(String.init) != name {
            entity.links[name, default: []].append(address)
        }
    }
}

/// Writes Atom documents without entries.
enum AtomDocuments {
    /// RFC 5023, section 8.
    static func service(_ sets: [String], _ scope: Version2Scope, to output: inout XMLOutput) {
        output.begin(
            "app:service",
            [
                ("xml:base", scope.root), ("xml:lang", Version2Error.language), ("xmlns:app", AtomName.publishing),
                ("xmlns:atom", AtomName.atom), ("xmlns:sap", Version2Namespace.sap),
            ])
        output.begin("app:workspace")
        output.element("atom:title", [("type", "text")], text: "Default")
        for set in sets {
            output.begin("app:collection", [("sap:content-version", "1"), ("href", set)])
            output.element("atom:title", [("type", "text")], text: set)
            output.end()
        }
        output.end()
        output.element("atom:link", [("rel", "self"), ("href", scope.root)])
        output.end()
    }

    static func links(_ links: Version2Links, to output: inout XMLOutput) {
        let namespace = [("xmlns", Version2Namespace.data)]
        guard links.isCollection else {
            output.element("uri", namespace, text: links.addresses.first ?? "")
            return
        }
        output.begin("links", namespace)
        if let count = links.count {
            output.element("m:count", [("xmlns:m", Version2Namespace.metadata)], text: String(count))
        }
        for address in links.addresses { output.element("uri", text: address) }
        if let next = links.next { output.element("next", text: next) }
        output.end()
    }

    /// As SAP's gateway has it.
    static func error(_ failure: Version2Error, to output: inout XMLOutput) {
        output.begin("error", [("xmlns", Version2Namespace.metadata)])
        output.element("code", text: failure.error.code.rawValue)
        output.element("message", [("xml:lang", Version2Error.language)], text: failure.error.message)
        output.begin("innererror")
        output.element("transactionid", text: failure.requestID)
        output.begin("errordetails")
        for detail in [failure.error] + failure.details {
            output.begin("errordetail")
            output.element("code", text: detail.code.rawValue)
            output.element("message", text: detail.message)
            output.element("propertyref", text: detail.target ?? "")
            output.element("severity", text: "error")
            output.end()
        }
        output.end()
        output.end()
        output.end()
    }
}
