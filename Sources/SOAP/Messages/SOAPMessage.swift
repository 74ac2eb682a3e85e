import AdapterKit
import WireFormats

/// The versions of SOAP that are read and written.
public enum SOAPVersion: String, Sendable, CaseIterable {
    /// SOAP 1.1 (W3C note of 2000).
    case soap11 = "1.1"
    /// SOAP 1.2 (W3C recommendation of 2007).
    case soap12 = "1.2"

    /// The namespace of the envelope's elements.
    public var namespace: String {
        switch self {
        case .soap11: "http://schemas.xmlsoap.org/soap/envelope/"
        case .soap12: "http://www.w3.org/2003/05/soap-envelope"
        }
    }

    /// The media type of messages, without parameters.
    public var mediaType: String {
        switch self {
        case .soap11: "text/xml"
        case .soap12: "application/soap+xml"
        }
    }

    init?(namespace: String) {
        guard let version = Self.allCases.first(where: { $0.namespace == namespace }) else { return nil }
        self = version
    }
}

/// A failure as SOAP reports it.
public struct SOAPFault: Error, Sendable, Equatable {
    /// The codes of SOAP 1.2, section 5.4.6; SOAP 1.1 calls the last two `Client` and `Server`.
    public enum Code: String, Sendable, CaseIterable {
        /// The envelope is of another version.
        case versionMismatch = "VersionMismatch"
        /// A header that must be understood is not.
        case mustUnderstand = "MustUnderstand"
        /// The message is wrong: sending it again does not help.
        case sender = "Sender"
        /// The message could not be processed.
        case receiver = "Receiver"
    }

    /// What kind of failure it is. A code of no specification is ``Code/receiver``.
    public let code: Code
    /// One sentence for people.
    public let reason: String
    /// The elements of the detail, as they came; empty: none.
    public let detail: [XMLElement]

    /// Creates a fault with these values.
    public init(_ code: Code, _ reason: String, detail: [XMLElement] = []) {
        self.code = code
        self.reason = reason
        self.detail = detail
    }
}

/// A SOAP message that was read: an envelope of either version, with its headers and the elements of its body.
///
/// It is read by the gateway's own scanner: no DOCTYPE, no entities, depth and namespaces bounded.
public struct SOAPMessage: Sendable {
    /// The version of the envelope.
    public let version: SOAPVersion
    /// The header blocks.
    public let headers: [XMLElement]
    /// The elements of the body; none of them where ``fault`` is set.
    public let body: [XMLElement]
    /// The failure that the message reports; nil: it is a success.
    public let fault: SOAPFault?

    /// Reads a message. Throws ``SOAPFault``: `versionMismatch` for an envelope of another namespace, `mustUnderstand` for
    /// a header block that demands to be understood and is not in `understood`, `sender` for what is no message.
    public init(_ bytes: [UInt8], charset: String? = nil, understood: Set<QName> = []) throws(SOAPFault) {
        let envelope: XMLElement
        do {
            let source = try XMLSource(bytes, charset: charset)
            envelope = try XMLElement(source)
        } catch {
            throw SOAPFault(.sender, "The message is not well-formed XML: \(error.description)")
        }
        guard envelope.name == "Envelope" else { throw SOAPFault(.sender, "The message is no SOAP envelope.") }
        guard let version = SOAPVersion(namespace: envelope.namespace) else {
            throw SOAPFault(.versionMismatch, "The envelope is neither of SOAP 1.1 nor of SOAP 1.2.")
        }
        let namespace = version.namespace
        guard envelope.all("Body", in: namespace).count == 1, let body = envelope.first("Body", in: namespace) else {
            throw SOAPFault(.sender, "The envelope has not one body.")
        }
        guard envelope.all("Header", in: namespace).count < 2 else {
            throw SOAPFault(.sender, "The envelope has two headers.")
        }
        try Self.checkOrder(of: envelope.children, version)
        self.version = version
        headers = envelope.first("Header", in: namespace)?.children ?? []
        for header in headers where try Self.isMandatory(header, version) {
            guard understood.contains(QName(header.name, in: header.namespace)) else {
                throw SOAPFault(.mustUnderstand, "The header block \(header.name.prefix(100)) is not understood.")
            }
        }
        if let element = body.children.first, element.is("Fault", in: namespace) {
            fault = SOAPFault(element, version)
            self.body = []
        } else {
            fault = nil
            self.body = body.children
        }
    }

    /// The header, where there is one, stands before the body; what follows the body is SOAP 1.1's alone (section 4).
    private static func checkOrder(of elements: [XMLElement], _ version: SOAPVersion) throws(SOAPFault) {
        let hasHeader = elements.first?.is("Header", in: version.namespace) ?? false
        let body = hasHeader ? 1 : 0
        guard elements.indices.contains(body), elements[body].is("Body", in: version.namespace),
            elements.dropFirst(body + 1).allSatisfy({ version == .soap11 && $0.namespace != version.namespace })
        else { throw SOAPFault(.sender, "The envelope is not a header, which may be left out, and a body.") }
    }

    /// A block for another role is not for this node. `true` and `false` are SOAP 1.2's words; clients of SOAP 1.1 use them too.
    private static func isMandatory(_ header: XMLElement, _ version: SOAPVersion) throws(SOAPFault) -> Bool {
        let namespace = version.namespace
        let isForThisNode: Bool
        switch version {
        case .soap11:
            let actor = header.attribute("actor", in: namespace) ?? ""
            isForThisNode = actor.isEmpty || actor == "http://schemas.xmlsoap.org/soap/actor/next"
        case .soap12:
            let role = header.attribute("role", in: namespace) ?? ""
            isForThisNode =
                role.isEmpty || role == namespace + "/role/next" || role == namespace + "/role/ultimateReceiver"
        }
        guard isForThisNode, let value = header.attribute("mustUnderstand", in: namespace) else { return false }
        switch trimmed(value) {
        case "1", "true": return true
        case "0", "false": return false
        default:
            throw SOAPFault(
                .sender, "The header block \(header.name.prefix(100)) has a mustUnderstand that is neither 0 nor 1.")
        }
    }
}

extension SOAPFault {
    /// As a message has it. What is missing is empty.
    init(_ element: XMLElement, _ version: SOAPVersion) {
        let namespace = version.namespace
        switch version {
        case .soap11:
            // Children of a 1.1 fault are in no namespace; some services qualify them all the same.
            func child(_ name: String) -> XMLElement? {
                element.first(name, in: "") ?? element.first(name, in: namespace)
            }
            self.init(
                Self.code(child("faultcode")?.text), child("faultstring")?.text ?? "",
                detail: child("detail")?.children ?? [])
        case .soap12:
            let texts = element.first("Reason", in: namespace)?.all("Text", in: namespace) ?? []
            let english = texts.first { ($0.attribute("lang", in: XMLNamespaces.xmlName) ?? "").hasPrefix("en") }
            self.init(
                Self.code(element.first("Code", in: namespace)?.first("Value", in: namespace)?.text),
                (english ?? texts.first)?.text ?? "", detail: element.first("Detail", in: namespace)?.children ?? [])
        }
    }

    /// `soap:Client.Authentication` and the like count by their first part.
    private static func code(_ text: String?) -> Code {
        let local = (text ?? "").split(separator: ":").last.map(trimmed) ?? ""
        switch local.split(separator: ".").first ?? "" {
        case "VersionMismatch": return .versionMismatch
        case "MustUnderstand": return .mustUnderstand
        case "Client", "Sender": return .sender
        default: return .receiver
        }
    }

    func text(in version: SOAPVersion) -> String {
        switch (version, code) {
        case (.soap11, .sender): "Client"
        case (.soap11, .receiver): "Server"
        default: code.rawValue
        }
    }
}

extension SOAPVersion {
    /// A message whose body has one element with a value. `security`: a header that names the caller.
    ///
    /// Throws ``SOAPValueProblem`` where the value does not fit the element's type.
    public func message(
        _ value: SOAPValue, _ schema: XMLSchemaSet, security: UsernameToken? = nil
    ) throws(SOAPValueProblem) -> [UInt8] {
        var writer = XMLWriter()
        beginEnvelope(&writer)
        if let security {
            writer.begin(prefixed: "soap:Header")
            security.write(to: &writer)
            writer.end()
        }
        writer.begin(prefixed: "soap:Body")
        var values = SOAPValueWriter(schema: schema, writer: writer)
        for part in value.parts { try values.write(part.value, as: part.element, at: part.element.name.name) }
        writer = values.writer
        guard writer.isRepresentable else {
            throw SOAPValueProblem(path: "", message: "a text has a character that XML cannot carry")
        }
        writer.end()
        writer.end()
        return writer.bytes
    }

    /// A message that reports a failure; `details` become elements of `namespace` inside an element of this name.
    public func fault(
        _ fault: SOAPFault, detail name: QName? = nil, _ details: [(name: String, value: String)] = []
    ) -> [UInt8] {
        var writer = XMLWriter()
        beginEnvelope(&writer)
        writer.begin(prefixed: "soap:Body")
        writer.begin(prefixed: "soap:Fault")
        let code = "soap:\(fault.text(in: self))"
        switch self {
        case .soap11:
            writer.element(prefixed: "faultcode", text: code)
            writer.element(prefixed: "faultstring", [("xml:lang", "en")], text: fault.reason)
        case .soap12:
            writer.begin(prefixed: "soap:Code")
            writer.element(prefixed: "soap:Value", text: code)
            writer.end()
            writer.begin(prefixed: "soap:Reason")
            writer.element(prefixed: "soap:Text", [("xml:lang", "en")], text: fault.reason)
            writer.end()
        }
        if let name {
            writer.begin(prefixed: self == .soap11 ? "detail" : "soap:Detail")
            writer.begin(name)
            for detail in details { writer.element(QName(detail.name, in: name.namespace), text: detail.value) }
            writer.end()
            writer.end()
        }
        for _ in 0..<3 { writer.end() }
        return writer.bytes
    }

    private func beginEnvelope(_ writer: inout XMLWriter) {
        writer.begin(prefixed: "soap:Envelope", [("xmlns:soap", namespace), ("xmlns:xsi", XSD.instance)])
    }
}

/// What a message's body carries: elements with their values.
public struct SOAPValue: Sendable {
    /// One element of the body.
    public struct Part: Sendable {
        let element: ElementDeclaration
        let value: WireValue
    }

    let parts: [Part]

    /// A body of one element.
    public init(_ element: ElementDeclaration, _ value: WireValue) {
        parts = [Part(element: element, value: value)]
    }

    init(parts: [Part]) {
        self.parts = parts
    }
}
