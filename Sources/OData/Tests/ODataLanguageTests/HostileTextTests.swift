import ODataLanguage
import Testing

/// Requests that were right once, damaged at random; the seed makes each run the same.
@Suite struct HostileTextTests {
    private static let requests = [
        "Products(1)/Shop.Special/Parts('a''b')/$count?$filter=contains(tolower(Name),'x%20y') and not (Price gt 1.5e3)",
        "Products?$expand=Parts($filter=Size in (1,2,3);$orderby=Name desc;$levels=2;$select=A,B($top=1)),*/$ref",
        "Products?$apply=filter(A eq 1)/groupby((B/C,rollup(D,E)),aggregate(F with sum as G,$count as H))/top(3)",
        "Products?$search=(blue OR \"light green\") AND NOT red&$count=true&$format=json&@p=[1,{\"a\":\"\\u00e9\"}]",
        "Products?$filter=Parts/any(p:p/Sizes/all(s:s ge duration'P1DT2H')) or geo.distance(L,geography'SRID=4326;Point(1 2)') lt 3",
        "$crossjoin(A,B)?$compute=case(A/X gt 0:1,true:-1) as S,cast(A/Y,Edm.String) as T&$orderby=S,isof(A/Z,Shop.T)",
        "A(K=01234567-89ab-cdef-0123-456789abcdef,L=2024-02-29T09:30:00%2B02:00)/$filter(@x)/$each/Shop.Act?@x=B has Shop.E'F,G'",
        "$entity/Shop.Special?$id=http://host/A(1)&$select=B",
    ]

    @Test func `damaged requests are parsed or refused at a position within them`() {
        var random = SeededBytes(state: 20_240_229)
        for round in 0..<20_000 {
            var bytes = Array(Self.requests[round % Self.requests.count].utf8)
            for _ in 0...random.below(3) { Self.damage(&bytes, &random) }
            let text = String(decoding: bytes, as: UTF8.self)
            do {
                _ = try RequestTarget(text)
            } catch {
                #expect((0...text.utf8.count).contains(error.position), "\(text)")
                #expect(!error.expected.isEmpty, "\(text)")
            }
        }
    }

    private static func damage(_ bytes: inout [UInt8], _ random: inout SeededBytes) {
        let place = random.below(bytes.count)
        let letters = Array("()[]{}'\"/$@,;:=&?%*+-. aN0\u{7F}".utf8)
        switch random.below(4) {
        case 0: bytes.remove(at: place)
        case 1: bytes.insert(letters[random.below(letters.count)], at: place)
        case 2: bytes[place] = letters[random.below(letters.count)]
        default: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + random.below(20))], at: place)
        }
        if bytes.isEmpty { bytes = [UInt8(ascii: "A")] }
    }
}

/// A small generator (xorshift), so that failures can be met again.
private struct SeededBytes {
    var state: UInt64

    mutating func below(_ bound: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(state % UInt64(max(bound, 1)))
    }
}
