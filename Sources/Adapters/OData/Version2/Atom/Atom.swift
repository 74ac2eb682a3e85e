import AdapterKit
import ODataModel

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
struct Atom: Version2Format {
    func isNamed(_ name: String) -> Bool {
        let type = name.prefix { $0 != ";" }.filter { $0 != " " }.lowercased()
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
