import Testing
import ValueTree

@Suite struct ByteTextTests {
    @Test func `bytes are digits in lower case, and sixteen of them a UUID`() {
        #expect(Hexadecimal.text([0, 0x0F, 0xA0, 0xFF]) == "000fa0ff")
        #expect(Hexadecimal.text([UInt8]()).isEmpty)
        #expect(Hexadecimal.uuid(Array(0x10...0x1F)) == "10111213-1415-1617-1819-1a1b1c1d1e1f")
    }

    @Test(arguments: ["", "f", "fo", "foo", "foob", "ÿþ>?"])
    func `base64url comes back as it was, without padding`(text: String) {
        let encoded = Base64URL.encode(Array(text.utf8))
        #expect(!encoded.contains { "+/=".contains($0) })
        #expect(Base64URL.decode(encoded) == Array(text.utf8))
    }

    @Test func `clients' padding and standard letters are taken where that is asked for, and only there`() {
        for text in ["+/8=", "-_8=", "+/8"] {
            #expect(Base64URL.decode(lenient: text) == [0xFB, 0xFF])
            #expect(Base64URL.decode(text) == nil)
        }
        #expect(Base64URL.decode("-_8") == [0xFB, 0xFF])
        for text in ["A", "AB", "A A", "ä"] { #expect(Base64URL.decode(lenient: text) == nil) }
    }
}
