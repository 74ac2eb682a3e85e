import AdapterKit
import Foundation
import Testing
import WireFormats

@testable import SOAP

/// What callers and other systems send, broken in every way that a generator finds: it is refused or understood, and ends
/// nothing.
@Suite struct HostileMessageTests {
    @Test func noCutOrChangedMessageTraps() throws {
        var random = SeededRandom(seed: 24)
        var counts = (read: 0, refused: 0)
        for fixture in DescriptionCase.all {
            let description = try DescriptionCase.description(fixture.file)
            let operation = try #require(description.operation(fixture.operation))
            let answer = Array(
                "<e:Envelope xmlns:e='\(fixture.version.namespace)' xmlns:xsi='\(XSD.instance)'><e:Body>\(fixture.answer)</e:Body></e:Envelope>"
                    .utf8)
            for _ in 0..<200 {
                let bytes = damaged(answer, &random)
                do {
                    let message = try SOAPMessage(bytes)
                    let value = try operation.readResponse(message, description.schema)
                    _ = try? operation.request(value, description.schema)
                    counts.read += 1
                } catch {
                    counts.refused += 1
                }
            }
        }
        #expect(counts.read > 100)
        #expect(counts.refused > 100)
    }

    @Test func noCutOrChangedDescriptionTraps() throws {
        var random = SeededRandom(seed: 1_616)
        var counts = (read: 0, refused: 0)
        let folder = try #require(Bundle.module.resourceURL).appendingPathComponent("Fixtures")
        for fixture in DescriptionCase.all where !fixture.file.contains("/") {
            let original = [UInt8](try Data(contentsOf: folder.appendingPathComponent(fixture.file)))
            for _ in 0..<40 {
                let bytes = damaged(original, &random)
                do {
                    let description = try ServiceDescriptionReader.read(fixture.file) { _ in bytes }
                    counts.read += 1
                    for operation in description.operations {
                        _ = description.problems(of: operation)
                        _ = try? operation.request(fixture.value, description.schema)
                    }
                } catch {
                    counts.refused += 1
                }
            }
        }
        #expect(counts.read > 50)
        #expect(counts.refused > 50)
    }

    /// Bytes cut off, changed, repeated or taken out.
    private func damaged(_ bytes: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
        var bytes = bytes
        for _ in 0...(random.next() % 3) {
            guard !bytes.isEmpty else { break }
            let place = Int(random.next() % UInt64(bytes.count))
            let length = min(Int(random.next() % 40), bytes.count - place)
            switch random.next() % 8 {
            case 0: bytes.removeLast(bytes.count - place)
            case 1: bytes.removeSubrange(place..<place + length)
            case 2: bytes.insert(contentsOf: bytes[place..<place + length], at: place)
            case 3: bytes[place] = UInt8(truncatingIfNeeded: random.next())
            // Mostly still well-formed.
            default:
                if bytes[place] >= 0x30, bytes[place] < 0x3A {
                    bytes[place] = 0x39
                } else if bytes[place] == 0x20 {
                    bytes[place] = 0x0A
                }
            }
        }
        return bytes
    }

    @Test func groupsThatMultiplyAreBounded() throws {
        var groups =
            "<xsd:group name='g0'><xsd:sequence><xsd:element name='e' type='xsd:int'/></xsd:sequence></xsd:group>"
        for number in 1...40 {
            let inner = "<xsd:group ref='t:g\(number - 1)'/>"
            groups += "<xsd:group name='g\(number)'><xsd:sequence>\(inner)\(inner)</xsd:sequence></xsd:group>"
        }
        let description = try read(
            groups + "<xsd:element name='a'><xsd:complexType><xsd:group ref='t:g40'/></xsd:complexType></xsd:element>")
        #expect(
            description.problems.contains {
                $0.message.contains("declarations") || $0.message.contains("contains itself")
            })
    }

    @Test func namesThatWouldBeMarkupAreNoNames() throws {
        for name in ["a b", "a>", "a&lt;b", "a/", "x:y", "a&#10;b", ""] {
            let description = try read("<xsd:element name='\(name)' type='xsd:int'/>")
            #expect(description.schema.elementNames.isEmpty, "\(name)")
            #expect(description.problems.count == 1)
        }
    }

    @Test func derivationsWithoutEndAreBounded() throws {
        var types = "<xsd:complexType name='T0'><xsd:sequence/></xsd:complexType>"
        for number in 1...2_000 {
            types += """
                <xsd:complexType name='T\(number)'><xsd:complexContent><xsd:extension base='t:T\(number - 1)'/>\
                </xsd:complexContent></xsd:complexType>
                """
        }
        // The last one first, so that it needs all of the others.
        let description = try read("<xsd:element name='a' type='t:T2000'/>" + types)
        let element = try #require(description.schema.element(QName("a", in: "urn:t")))
        _ = description.schema.problems(in: element)
    }

    private func read(_ schema: String) throws -> SOAPServiceDescription {
        let text = """
            <definitions xmlns='\(XSD.wsdl)' xmlns:xsd='\(XSD.namespace)' xmlns:t='urn:t'><types>\
            <xsd:schema targetNamespace='urn:t'>\(schema)</xsd:schema></types></definitions>
            """
        return try ServiceDescriptionReader.read("a.wsdl") { _ in Array(text.utf8) }
    }

    @Test func filesAreBoundedInNumberAndLeaveNoFolder() throws {
        let endless = { (path: String) -> [UInt8] in
            let number = Int(path.split(separator: ".")[0]) ?? 0
            return Array("<definitions xmlns='\(XSD.wsdl)'><import location='\(number + 1).wsdl'/></definitions>".utf8)
        }
        #expect { try ServiceDescriptionReader.read("0.wsdl", load: endless) } throws: {
            "\($0)".contains("more than 64 files")
        }
        for (location, path): (String, String?) in [
            ("b.xsd", "a/b.xsd"), ("../b.xsd", "b.xsd"), ("../../b.xsd", nil), ("/etc/passwd", nil),
            ("http://a/b", nil), ("file:///etc/passwd", nil), ("..\\b", nil), ("./c/../b", "a/b"), ("..", nil),
            ("", "a"),
        ] {
            #expect(ServiceDescriptionReader.path(location, from: "a/x.wsdl") == path, "\(location)")
        }
    }

    @Test func valuesOfAMessageAreCounted() throws {
        let description = try DescriptionCase.description("departments-recursive.wsdl")
        let operation = try #require(description.operation("flatten"))
        let items = String(repeating: "<below><name>b</name></below>", count: 100)
        let bytes =
            "<e:Envelope xmlns:e='\(SOAPVersion.soap11.namespace)'><e:Body><tree xmlns='urn:departments'>\(items)</tree></e:Body></e:Envelope>"
        let element = try #require(try SOAPMessage(Array(bytes.utf8)).body.first)
        var reader = SOAPValueReader(description.schema, limit: 150)
        #expect(throws: SOAPValueProblem.self) { try reader.read(element, as: operation.input[0]) }
    }
}
