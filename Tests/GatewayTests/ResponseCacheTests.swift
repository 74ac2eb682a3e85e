import AdapterKit
import HTTPTypes
import RecordStorage
import Testing

@testable import Gateway

@Suite struct ResponseCacheTests {
    private func key(_ input: String, roles: Set<RoleName>? = nil, reader: Principal? = nil) -> ResponseCache.Key {
        let request = GatewayRequest(
            id: "1", method: .get, target: RequestTarget("/\(input)") ?? .root, headers: [.accept: "application/json"],
            peer: "", body: .bytes([]), deadline: .now)
        return ResponseCache.Key("e", request, roles: roles, reader: reader, body: [])
    }

    private func response(_ size: Int) -> GatewayResponse {
        GatewayResponse(.ok, body: [UInt8](repeating: 0, count: size))
    }

    @Test func `an answer is given at its position and at no other`() {
        let cache = ResponseCache(capacity: 1 << 20)
        cache.keep(response(3), for: key("a"), at: RecordsVersion("1"))
        #expect(cache.response(for: key("a"), at: RecordsVersion("1"))?.response.body.count == 3)
        #expect(cache.response(for: key("a"), at: RecordsVersion("2")) == nil)
        #expect(cache.response(for: key("a"), at: RecordsVersion("1")) == nil)
    }

    @Test func `callers of other roles have answers of their own`() {
        let cache = ResponseCache(capacity: 1 << 20)
        cache.keep(response(3), for: key("a", roles: ["admin"]), at: RecordsVersion("1"))
        #expect(cache.response(for: key("a", roles: []), at: RecordsVersion("1")) == nil)
        #expect(cache.response(for: key("a"), at: RecordsVersion("1")) == nil)
    }

    @Test func `an answer that row rules make somebody's is nobody else's`() {
        let cache = ResponseCache(capacity: 1 << 20)
        let alice = Principal(kind: .user, id: "1", name: "alice")
        let elsewhere = Principal(kind: .user, id: "1", name: "alice", attributes: ["region": "north"])
        cache.keep(response(3), for: key("a", reader: alice), at: RecordsVersion("1"))
        #expect(cache.response(for: key("a", reader: alice), at: RecordsVersion("1")) != nil)
        #expect(cache.response(for: key("a", reader: elsewhere), at: RecordsVersion("1")) == nil)
        #expect(
            cache.response(for: key("a", reader: Principal(kind: .user, id: "2", name: "bob")), at: RecordsVersion("1"))
                == nil)
        #expect(cache.response(for: key("a"), at: RecordsVersion("1")) == nil)
    }

    @Test func `the least recently used answers make room`() {
        let cache = ResponseCache(capacity: 100_000)
        for number in 0..<20 {
            cache.keep(response(9_000), for: key("\(number)"), at: RecordsVersion("1"))
            _ = cache.response(for: key("0"), at: RecordsVersion("1"))
        }
        #expect(cache.response(for: key("0"), at: RecordsVersion("1")) != nil)
        #expect(cache.response(for: key("1"), at: RecordsVersion("1")) == nil)
        #expect(cache.response(for: key("19"), at: RecordsVersion("1")) != nil)
    }

    @Test func `an answer too large for its share is not kept`() {
        let cache = ResponseCache(capacity: 8_000)
        cache.keep(response(2_000), for: key("a"), at: RecordsVersion("1"))
        #expect(cache.response(for: key("a"), at: RecordsVersion("1")) == nil)
    }
}
