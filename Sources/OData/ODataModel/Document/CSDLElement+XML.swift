import WireFormats

extension CSDLElement {
    /// The deepest nesting of a CSDL document.
    public static let maximumDepth = XMLElement.maximumDepth

    /// Reads an XML document. Throws ``CSDLProblem`` where it is not well-formed, with the line.
    public init(xml bytes: [UInt8]) throws(CSDLProblem) {
        do {
            self.init(try XMLElement(xml: bytes))
        } catch {
            throw CSDLProblem(error.message, line: error.position?.line)
        }
    }

    private init(_ element: XMLElement) {
        self.init(
            element.name, namespace: element.namespace,
            element.attributes.map { attribute in
                Attribute(
                    attribute.namespace.isEmpty ? attribute.name : "{\(attribute.namespace)}\(attribute.name)",
                    attribute.value)
            },
            children: element.children.map(CSDLElement.init), text: Self.trimmed(element.text), line: element.line)
    }

    private static func trimmed(_ text: String) -> String {
        let spaces: Set<Character> = [" ", "\t", "\n", "\r", "\r\n"]
        let front = text.drop { spaces.contains($0) }
        return String(front.reversed().drop { spaces.contains($0) }.reversed())
    }
}
