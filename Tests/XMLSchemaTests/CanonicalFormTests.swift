import AdapterKit
import CLibXML2
import Testing
import WireFormatTesting
import WireFormats

/// What libxml2 makes of a document: Canonical XML 1.1 without comments.
private func canonical(_ document: [UInt8]) -> [UInt8]? {
    let tree = document.withUnsafeBytes { bytes in
        xmlReadMemory(
            bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count), nil, nil,
            Int32(XML_PARSE_NONET.rawValue))
    }
    guard let tree else { return nil }
    defer { xmlFreeDoc(tree) }
    var output: UnsafeMutablePointer<xmlChar>?
    let count = xmlC14NDocDumpMemory(tree, nil, Int32(XML_C14N_1_1.rawValue), nil, 0, &output)
    guard count >= 0, let output else { return nil }
    defer { free(output) }
    return Array(UnsafeBufferPointer(start: output, count: Int(count)))
}

@Suite struct CanonicalFormTests {
    private let options = WritingOptions(layout: .pretty, xml: XMLWritingOptions(isCanonical: true))

    @Test func `canonical output is what libxml2 takes for canonical`() throws {
        for seed in 0..<500 as Range<UInt64> {
            var generator = ValueGenerator(traits: XMLFormat().traits, seed: seed)
            let value = generator.value()
            let written = try XMLFormat().write(value, options: options)
            #expect(canonical(written) == written, "seed \(seed)")
            #expect(try XMLFormat().read(written) == value, "seed \(seed)")
        }
    }

    @Test func `canonical and plain output have one canonical form`() throws {
        for seed in 500..<700 as Range<UInt64> {
            var generator = ValueGenerator(traits: XMLFormat().traits, seed: seed)
            let value = generator.value()
            #expect(canonical(try XMLFormat().write(value)) == (try XMLFormat().write(value, options: options)))
        }
    }

    @Test func `shaped output is canonical too`() throws {
        let shape = Shape.object(ObjectShape("A", members: [Member("t", .string), Member("e", .string)]))
        let shaped = try #require(ShapedXML(XMLDocument(root: "a", namespace: "urn:x"), shape))
        let written = try shaped.write(["t": "\r\n\t\"<>&é", "e": ""], options: options)
        #expect(canonical(written) == written)
    }
}
