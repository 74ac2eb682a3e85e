import Foundation
import WireFormats

/// Which documents a WSDL at an address consists of, and the files that they become: everything in one folder, imports
/// and includes leading to the files. A state machine; who drives it makes the requests.
public struct DescriptionDownload {
    /// One file, by its name.
    public struct File: Sendable, Equatable {
        /// The name, without a folder.
        public let name: String
        /// The document in UTF-8.
        public let bytes: [UInt8]
    }

    private let stem: String
    private var names: [String: String] = [:]
    private var pending: [String] = []
    private var bytesLeft = ServiceDescriptionReader.maximumBytes
    /// What has been received.
    public private(set) var files: [File] = []

    /// `file`: the name of the WSDL's file; the others are named after it.
    public init(_ address: String, file: String) {
        stem = file.lastIndex(of: ".").map { String(file[..<$0]) } ?? file
        names[address] = file
        pending = [address]
    }

    /// What is to be fetched next; nil: there is no more.
    public var next: String? { pending.first }

    /// Takes the document of ``next``. Throws ``SchemaProblem`` for one that is no XML, for an import by something else
    /// than HTTP, and beyond ``ServiceDescriptionReader/maximumFiles`` and ``ServiceDescriptionReader/maximumBytes``.
    public mutating func receive(_ bytes: [UInt8]) throws(SchemaProblem) {
        guard let address = pending.first, let name = names[address] else { return }
        pending.removeFirst()
        bytesLeft -= bytes.count
        guard bytesLeft >= 0 else { throw SchemaProblem("the documents are too large", file: address) }
        let text: String
        let root: XMLElement
        do {
            let source = try XMLSource(bytes)
            root = try XMLElement(source)
            text = String(decoding: source.bytes[source.start...], as: UTF8.self)
        } catch {
            throw SchemaProblem(error.message, file: address, line: error.position?.line ?? 0)
        }
        var rewritten = "<?xml version=\"1.0\" encoding=\"utf-8\"?>" + text
        for (location, line) in Self.locations(in: root) {
            let target = try self.name(of: location, from: address, line)
            rewritten = Self.replacing(location, by: target, in: rewritten)
        }
        files.append(File(name: name, bytes: Array(rewritten.utf8)))
    }

    private mutating func name(
        of location: String, from address: String, _ line: Int
    ) throws(SchemaProblem) -> String {
        guard let url = URL(string: location, relativeTo: URL(string: address))?.absoluteURL,
            ["http", "https"].contains(url.scheme?.lowercased())
        else { throw SchemaProblem("\(location.prefix(200)) cannot be fetched", file: address, line: line) }
        let target = url.absoluteString
        if let name = names[target] { return name }
        guard names.count < ServiceDescriptionReader.maximumFiles else {
            throw SchemaProblem("there are more than \(ServiceDescriptionReader.maximumFiles) documents", file: address)
        }
        let name = "\(stem)-\(names.count).xml"
        names[target] = name
        pending.append(target)
        return name
    }

    private static func locations(in root: XMLElement) -> [(String, Int)] {
        var found: [(String, Int)] = []
        var open = [root]
        while let element = open.popLast() {
            switch (element.namespace, element.name) {
            case (XSD.wsdl, "import"):
                if let text = element.attribute("location") { found.append((text, element.line)) }
            case (XSD.namespace, "import"), (XSD.namespace, "include"), (XSD.namespace, "redefine"):
                if let text = element.attribute("schemaLocation") { found.append((text, element.line)) }
            case (XSD.wsdl, "definitions"), (XSD.wsdl, "types"), (XSD.namespace, "schema"): open += element.children
            default: continue
            }
        }
        return found.filter { !$0.0.isEmpty }
    }

    /// The attribute's value as it stands in the document, in either kind of quotes.
    private static func replacing(_ location: String, by name: String, in text: String) -> String {
        var text = text
        let escaped = location.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
        for quote in ["\"", "'"] {
            let pattern = "(ocation\\s*=\\s*)" + NSRegularExpression.escapedPattern(for: quote + escaped + quote)
            text = text.replacingOccurrences(
                of: pattern, with: "$1" + NSRegularExpression.escapedTemplate(for: quote + name + quote),
                options: .regularExpression)
        }
        return text
    }
}
