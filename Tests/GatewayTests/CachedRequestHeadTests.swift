import AdapterKit
import NIOCore
import NIOHTTP1
import Testing

@testable import Gateway

@Suite struct CachedRequestHeadTests {
    private static let lines = ["POST /a HTTP/1.1", "Host: a", "Authorization: Bearer 1", "Content-Length: 3"]
    private static let text = lines.joined(separator: "\r\n") + "\r\n\r\n"

    private func known(_ arrived: String, mayBeHeld: Bool = true) -> CachedRequestHead? {
        let headers: HTTPHeaders = ["Host": "a", "Authorization": "Bearer 1", "Content-Length": "3"]
        let head = HTTPRequestHead(version: .http1_1, method: .POST, uri: "/a", headers: headers)
        let validatedHead = ValidatedHead(host: "a", isLast: false, mayBeHeld: mayBeHeld)
        return CachedRequestHead(head, validatedHead, leading: ByteBuffer(string: arrived))
    }

    @Test func `a head is known by all of its bytes, with a body of the same length`() throws {
        let known = try #require(self.known(Self.text + "abc"))
        #expect(known.length == Self.text.utf8.count)
        #expect(known.isWhole(ByteBuffer(string: Self.text + "xyz")))
        #expect(known.body(of: ByteBuffer(string: Self.text + "xyz")).map { String(buffer: $0) } == "xyz")
        for other in ["xy", "xyz!", ""] { #expect(!known.isWhole(ByteBuffer(string: Self.text + other))) }
    }

    @Test func `a head that differs in one byte is another`() throws {
        let known = try #require(self.known(Self.text))
        let bytes = Array((Self.text + "abc").utf8)
        for index in bytes.indices.dropLast(3) {
            var other = bytes
            other[index] ^= 1
            #expect(!known.isWhole(ByteBuffer(bytes: other)))
        }
        #expect(known.isWhole(ByteBuffer(bytes: bytes)))
    }

    @Test func `a head whose lines are not one for each field is not remembered`() {
        let folded = Self.text.replacing("Bearer 1", with: "Bearer\r\n 1")
        let bare = Self.text.replacing("Host: a\r\n", with: "Host: a\n")
        for odd in ["\r\n" + Self.text, "\r\n\r\n" + Self.text, folded, bare, String(Self.text.dropLast(2))] {
            #expect(known(odd + "abc") == nil)
        }
    }

    @Test func `what may not be held, or is long, is not remembered`() {
        #expect(known(Self.text, mayBeHeld: false) == nil)
        let long = Self.text.replacing("Bearer 1", with: String(repeating: "1", count: RepeatedHead.longest))
        #expect(known(long) == nil)
    }
}

@Suite struct DecoderPlaceTests {
    @Test func `a message ends with the last byte of its body`() {
        #expect(DecoderPosition(bodyLength: 0, arrived: 0) == .messageStart)
        #expect(DecoderPosition(bodyLength: 5, arrived: 5) == .messageStart)
        var place = DecoderPosition(bodyLength: 5, arrived: 0)
        place.take(2)
        #expect(place == .body(rest: 3))
        place.take(3)
        #expect(place == .messageStart)
    }

    @Test func `bytes beyond a body make the place unknown, for good`() {
        var place = DecoderPosition(bodyLength: 5, arrived: 6)
        #expect(place == .unknown)
        place.take(1)
        #expect(place == .unknown)
        #expect(DecoderPosition(bodyLength: 0, arrived: 1) == .unknown)
    }
}
