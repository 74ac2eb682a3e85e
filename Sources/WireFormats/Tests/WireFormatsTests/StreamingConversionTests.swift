import AdapterKit
import Testing
import WireFormatTesting
import WireFormats

private func format(_ name: FormatName) throws -> any WireFormat {
    try #require(FormatCatalogue.conversion[name])
}

/// Converts with so little room that even short documents come in pieces, or as a whole.
private func convert(
    _ document: [UInt8], _ from: FormatName, _ to: FormatName?, inPieces: Bool, of pieceBytes: Int = 24
) throws -> [UInt8] {
    var (output, rest) = ([UInt8](), document[...])
    let conversion = Conversion(
        from: try format(from), to: try to.map(format), heldBytes: inPieces ? 40 : 1 << 20, pieceBytes: pieceBytes)
    _ = try conversion.run(
        input: {
            defer { rest = rest.dropFirst(7) }
            return Array(rest.prefix(7))
        }, output: { output += $0 })
    return output
}

private func failure(_ document: String, _ from: FormatName, _ to: FormatName?, inPieces: Bool) -> WireFormatError? {
    do {
        _ = try convert(Array(document.utf8), from, to, inPieces: inPieces)
        return nil
    } catch { return error as? WireFormatError }
}

@Suite struct StreamingConversionTests {
    @Test(arguments: [FormatName.json, .plist, .xml])
    func `generated documents become the same in pieces as on the whole`(source: FormatName) throws {
        let reader = try format(source)
        var generator = ValueGenerator(traits: reader.traits, seed: 23)
        for _ in 0..<300 {
            let document = try reader.write(generator.value(size: 400))
            for target in [FormatName.json, .plist, .xml, .cbor, .bplist] {
                guard let whole = try? convert(document, source, target, inPieces: false) else { continue }
                let pieces = try convert(document, source, target, inPieces: true, of: 1500)
                let writer = try format(target)
                #expect(try writer.read(pieces) == writer.read(whole), "\(source) to \(target)")
            }
        }
    }

    @Test(arguments: [FormatName.json, .plist, .xml])
    func `deep nesting with values at every level becomes the same in pieces as on the whole`(source: FormatName) throws
    {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            var value = WireValue.string("innermost")
            for level in 0..<Int.random(in: 1...60, using: &random) {
                let others = (0..<Int.random(in: 0...3, using: &random)).map {
                    WireValue.string("[\(level)] {\($0)} <")
                }
                let place = Int.random(in: 0...others.count, using: &random)
                var items = others
                items.insert(value, at: place)
                value =
                    Bool.random(using: &random)
                    ? .array(items) : .dictionary(["before": .array(others), "inner": value])
            }
            let document = try format(source).write(value)
            for pieceBytes in [200, 1_000] {
                let pieces = try convert(document, source, .cbor, inPieces: true, of: pieceBytes)
                #expect(try format(.cbor).read(pieces) == format(source).read(document))
            }
        }
    }

    @Test(arguments: [
        "<r a='1' xmlns:p='u'><!-- c --><x>1</x><x b='2'>two</x> <?i?><p:y p:c=''><z/><z>long long long long</z></p:y></r>",
        "<r><only>one element of some length, and no other one</only></r>",
        "<r xmlns='d'><a><b xmlns=''><c>1</c><c>2</c><c>3</c><c>4</c><c>5</c></b></a></r><!-- the end -->",
        "<?xml version='1.0'?><r><l>1</l><l>2</l><l>3</l><l>4</l><m>a text &amp; more of it, rather long</m></r> ",
        "<r><t><![CDATA[<long text that must be held as a whole>]]></t><u>   another long one behind spaces </u></r>",
        "<r a='1>2' b=\"3>'\"><x c='>' d='\">'>1</x><y>some text that is longer than a piece</y></r>",
    ])
    func `foreign XML becomes the same in pieces as on the whole`(document: String) throws {
        let bytes = Array(document.utf8)
        let (pieces, whole) = (
            try convert(bytes, .xml, .json, inPieces: true), try convert(bytes, .xml, .json, inPieces: false)
        )
        #expect(String(decoding: pieces, as: UTF8.self) == String(decoding: whole, as: UTF8.self))
    }

    @Test(arguments: ["a='1'", "a='1>2'", "a=\"it's >\"", "a='\">'"])
    func `a long element is written while it is read, whatever its attributes hold`(attribute: String) throws {
        var rest = Array("<r \(attribute)>\(String(repeating: "<x>some text</x>", count: 20_000))</r>".utf8)[...]
        var isWrittenEarly = false
        let conversion = Conversion(
            from: try format(.xml), to: try format(.json), heldBytes: 40, pieceBytes: 4_096)
        _ = try conversion.run(
            input: {
                defer { rest = rest.dropFirst(10_000) }
                return Array(rest.prefix(10_000))
            }, output: { _ in if !rest.isEmpty { isWrittenEarly = true } })
        #expect(isWrittenEarly)
    }

    @Test
    func `namespaces of any level are those of the whole document in pieces`() throws {
        var documents = ForeignXML()
        for _ in 0..<400 {
            let document = documents.next()
            let whole = try convert(Array(document.utf8), .xml, .json, inPieces: false)
            let pieces = try convert(Array(document.utf8), .xml, .json, inPieces: true, of: 120)
            #expect(String(decoding: pieces, as: UTF8.self) == String(decoding: whole, as: UTF8.self), "\(document)")
        }
    }

    @Test
    func `types are found under whatever prefix, in pieces too`() throws {
        let document = """
            <d xmlns:v="urn:portico:value" v:type="dictionary"><a xmlns:portico-piece="urn:portico:value" \
            xmlns:v="urn:else" portico-piece:type="array"><item portico-piece:type="int">1</item>\
            <item portico-piece:type="int">2</item></a><b v:type="int">3</b></d>
            """
        let pieces = try convert(Array(document.utf8), .xml, .json, inPieces: true, of: 150)
        #expect(String(decoding: pieces, as: UTF8.self) == #"{"a":[1,2],"b":3}"#)
    }

    @Test(arguments: [false, true])
    func `work grows with the length of a document, not with its nesting`(isTyped: Bool) throws {
        let (head, type) =
            isTyped ? ("xmlns:v='urn:portico:value' v:type='dictionary'", "v:type='dictionary'") : ("", "")
        let namespaces = (0..<20).map { "xmlns:p\($0)='urn:example:namespace:\($0)'" }.joined(separator: " ")
        let work = try [1, 2, 4, 8].map { size in
            var document = "<r \(head) \(namespaces)>"
            for level in 0..<60 * size { document += "<level\(level) \(type)>" }
            for item in 0..<400 * size { document += "<item\(item)>\(item)</item\(item)>" }
            for level in (0..<60 * size).reversed() { document += "</level\(level)>" }
            document += "</r>"
            var rest = Array(document.utf8)[...]
            let conversion = Conversion(
                from: try format(.xml), to: try format(.json), maximumDepth: 600, heldBytes: 40, pieceBytes: 1_200)
            let report = try conversion.run(
                input: {
                    defer { rest = rest.dropFirst(1_000) }
                    return Array(rest.prefix(1_000))
                }, output: { _ in })
            return report.parsedBytes
        }
        for (half, whole) in zip(work, work.dropFirst()) { #expect(whole < half * 5 / 2, "\(work)") }
    }

    @Test
    func `a namespace that every piece would repeat is refused where it is long`() throws {
        let long = String(repeating: "n", count: 1 << 10)
        let document = "<r xmlns:p='\(long)\(long)'><a>some text</a><b>more text</b></r>"
        var rest = Array(document.utf8)[...]
        let conversion = Conversion(from: try format(.xml), heldBytes: 40, pieceBytes: 4_096)
        #expect(failure(document, .xml, .json, inPieces: false) == nil)
        _ = try conversion.run(
            input: {
                defer { rest = [] }
                return Array(rest)
            }, output: { _ in })
        let longer = "<r xmlns:p='\(long)\(long)'>\(String(repeating: "<a>some text</a>", count: 400))</r>"
        rest = Array(longer.utf8)[...]
        let error = #expect(throws: WireFormatError.self) {
            try conversion.run(
                input: {
                    defer { rest = [] }
                    return Array(rest)
                }, output: { _ in })
        }
        #expect(error?.kind == .limitExceeded)
    }

    @Test(arguments: [
        "<r><a>1</a><b>2</b><a>3</a><c>some more text</c></r>", "<r><a>1</a> text <b>2</b><c>some more text</c></r>",
        "<r><a><b>1</b><b>some text and more</b></a><a>2</a></r>",
    ])
    func `what shows too late in an element that is too long is refused with its place`(document: String) throws {
        #expect(failure(document, .xml, .json, inPieces: false) == nil)
        let error = try #require(failure(document, .xml, .json, inPieces: true))
        #expect(error.kind == .refused || error.kind == .duplicateKey)
        #expect(error.position?.line == 1)
    }

    @Test(arguments: [
        "<plist><array><string>some text</string>", "<plist><array><string>some text</string></dict></plist>",
        "<plist><array><string>some text</string> x <true/></array></plist>",
        "<plist><array a='b'><string>some text</string></array></plist>",
        "<plist><array><string>some text</string></array><true/></plist>",
        "<plist><array><string>some text</string></array></plist><plist/>",
        "<plist><dict><string>some text</string><key>a</key></dict></plist>",
        "<plist><dict><key>a</key><key>b</key><string>some text</string></dict></plist>",
        "<plist><dict><key>a</key><string>some text</string><key>b</key></dict></plist>",
        "<plist><dict><key>a</key><string>some text</string></dict><!-- a -- b --></plist>",
        "<plist><array><string>some text</string><![CDATA[ ]]></array></plist>",
        "<plist><array><string>some text</string><!DOCTYPE plist></array></plist>",
        "<plist><array><string>some text</strinG><true/></array></plist>",
        "<plist><array><string>some text</string><foo/></array></plist>",
        "<plist><array><string>some text, more text, &nope;</string></array></plist>",
        "<plist><string>some text, more text</string></plist >x",
        "<plist><key>some text, more text, and more</key></plist>",
    ])
    func `a property list is held to the same grammar in pieces`(document: String) throws {
        for inPieces in [false, true] {
            let error = try #require(failure(document, .plist, nil, inPieces: inPieces))
            #expect(error.kind == .malformed && error.position?.line == 1, "\(error)")
        }
    }

    @Test(arguments: [
        "<r><a>some text</a><b>more text</b><c></r>", "<r><a>some text</a><b>more text</b></r><r/>",
        "<r><a>some text</a><b>more text</b></s>", "<r><a>some text</a><p:b>more text</p:b></r>",
        "<r><a>some text</a><b>more text</b>", "<r><a>some text</a><b>more text</b><!-- a -- b --></r>",
        "<r><a>some text</a><b>more text</b><?xml version='1.0'?></r>",
        "<r><a>some text</a><b>more text</b><!DOCTYPE r></r>", "<r><a>some text</a><b>more text</b></r><!DOCTYPE r>",
        "<r a='1' a='2'><b>more text, some text</b></r>",
        "<r><a>some text</a><b>more text</b></r>text", "<r><a>some text</a><b c='1' c='1'>more text</b></r>",
        "<r><a>some text</a><b>more text</b><c>&#0;</c></r>", "<r><a>some text, more text <b></a></b></r>",
    ])
    func `XML is held to the same grammar in pieces`(document: String) throws {
        for inPieces in [false, true] {
            let error = try #require(failure(document, .xml, nil, inPieces: inPieces))
            #expect(error.kind == .malformed && error.position?.line == 1, "\(error)")
        }
    }

    @Test(arguments: [
        ("[\n1,\n null]", FormatName.json, FormatName.plist, 3, 2),
        ("{\"a\": 1,\n \"b\": [true, null]}", .json, .bplist, 2, 14),
        ("{\"a\":1,\"a\":2,\n\"b\":null}", .json, .plist, 2, 5),
        ("[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,\n19,\n  18446744073709551616]", .json, .plist, 3, 3),
        ("[\"\\u0001\"]", .json, .xml, 1, 3),
        ("<plist><array>\n<real>nan</real></array></plist>", .plist, .json, 2, 7),
        (
            "<plist><array><string>some longer text</string>\n<real>inf</real><string>a</string></array></plist>",
            .plist, .json, 2, 7
        ),
    ])
    func `what the target cannot carry is refused with its place`(
        document: String, source: FormatName, target: FormatName, line: Int, column: Int
    ) throws {
        for inPieces in [false, true] {
            let error = try #require(failure(document, source, target, inPieces: inPieces))
            #expect(error.kind == .notRepresentable)
            #expect(error.position?.line == line && error.position?.column == column, "\(inPieces): \(error)")
        }
    }
}

/// Foreign documents whose elements declare, shadow and undo namespaces at every level. No element stands apart from another
/// of its name.
private struct ForeignXML {
    private var random = SystemRandomNumberGenerator()
    private var names = 0

    mutating func next() -> String { element(depth: Int.random(in: 2...12, using: &random), scope: []) }

    private mutating func element(depth: Int, scope: Set<String>) -> String {
        var (scope, tag) = (scope, "")
        for prefix in ["", "p", "q", "ä"] where Int.random(in: 0..<3, using: &random) == 0 {
            let namespace =
                prefix.isEmpty && Bool.random(using: &random) ? "" : "urn:\(Int.random(in: 0..<4, using: &random))"
            tag += prefix.isEmpty ? " xmlns='\(namespace)'" : " xmlns:\(prefix)=\"\(namespace)\""
            if !prefix.isEmpty { scope.insert(prefix) }
        }
        if let prefix = scope.randomElement(using: &random) { tag += " \(prefix):b='1'" }
        names += 1
        let prefix = Bool.random(using: &random) ? scope.randomElement(using: &random) : nil
        let name = (prefix.map { $0 + ":" } ?? "") + "e\(names)"
        guard depth > 0 else { return "<\(name)\(tag)>at 12:\(names)</\(name)>" }
        let children = (0..<Int.random(in: 1...3, using: &random)).map { _ in
            element(depth: depth - Int.random(in: 1...2, using: &random), scope: scope)
        }
        return "<\(name)\(tag)>\(children.joined())</\(name)>"
    }
}
