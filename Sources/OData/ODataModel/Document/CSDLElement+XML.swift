import AdapterKit
import WireFormats

extension CSDLElement {
    /// The deepest nesting of a CSDL document.
    public static let maximumDepth = 64

    /// Reads an XML document. Throws ``CSDLProblem`` where it is not well-formed, with the line.
    public init(xml bytes: [UInt8]) throws(CSDLProblem) {
        do {
            let source = try XMLSource(bytes)
            var builder = Builder(source: source.bytes)
            var scanner = XMLScanner(start: source.start, maximumDepth: Self.maximumDepth)
            self = try builder.read(&scanner)
        } catch {
            throw CSDLProblem(error.message, line: error.position?.line)
        }
    }

    /// Puts the events of one document together.
    private struct Builder {
        let source: [UInt8]
        var open: [CSDLElement] = []
        private var line = 1
        private var counted = 0

        init(source: [UInt8]) {
            self.source = source
        }

        mutating func read(_ scanner: inout XMLScanner) throws(WireFormatError) -> CSDLElement {
            while true {
                switch try scanner.next(source.span) {
                case .startElement: open.append(start(scanner))
                case .text, .cdata: appendText(scanner.content)
                case .endElement:
                    if let root = close() { return root }
                case .comment, .processingInstruction: continue
                case .endDocument: throw WireFormatError(.malformed, "the document is empty")
                }
            }
        }

        private mutating func start(_ scanner: borrowing XMLScanner) -> CSDLElement {
            countLines(to: scanner.eventStart)
            var element = CSDLElement(
                text(scanner.name.localRange),
                namespace: String(decoding: scanner.namespaces.name(scanner.name.namespace), as: UTF8.self), line: line)
            for attribute in scanner.attributes {
                let namespace = String(decoding: scanner.namespaces.name(attribute.name.namespace), as: UTF8.self)
                let local = text(attribute.name.localRange)
                element.attributes.append(
                    Attribute(
                        namespace.isEmpty ? local : "{\(namespace)}\(local)",
                        String(decoding: XMLText.attributeValue(attribute.value, source.span), as: UTF8.self)))
            }
            return element
        }

        private mutating func appendText(_ content: XMLContent) {
            var bytes: [UInt8] = []
            XMLText.append(content, source.span, to: &bytes)
            open[open.count - 1].text += String(decoding: bytes, as: UTF8.self)
        }

        /// The root, once it is complete.
        private mutating func close() -> CSDLElement? {
            var done = open.removeLast()
            done.text = Self.trimmed(done.text)
            guard let parent = open.indices.last else { return done }
            open[parent].children.append(done)
            return nil
        }

        private static func trimmed(_ text: String) -> String {
            let spaces: Set<Character> = [" ", "\t", "\n", "\r", "\r\n"]
            let front = text.drop { spaces.contains($0) }
            return String(front.reversed().drop { spaces.contains($0) }.reversed())
        }

        private func text(_ range: Range<Int>) -> String {
            String(decoding: source[range], as: UTF8.self)
        }

        private mutating func countLines(to offset: Int) {
            for byte in source[counted..<offset] where byte == 0x0A { line += 1 }
            counted = offset
        }
    }
}
