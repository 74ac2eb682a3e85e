import AdapterKit
import Testing

@Suite
struct LongReadEstimateTests {
    @Test func `a read that was long is expected to be long for a number of uses, then tried as a short one`() {
        var estimate = LongReadEstimate()
        #expect(estimate.isEmpty)
        let expected = { (hash: Int) in estimate.expectsLong(hash) }
        #expect(!expected(1))
        estimate.noteLong(1)
        for _ in 0..<LongReadEstimate.uses { #expect(expected(1)) }
        #expect(!expected(1))
        #expect(estimate.isEmpty)
    }

    @Test func `one entry too many forgets all others`() {
        var estimate = LongReadEstimate()
        for hash in 0...LongReadEstimate.maximum { estimate.noteLong(hash) }
        let expected = { (hash: Int) in estimate.expectsLong(hash) }
        #expect(!expected(0))
        #expect(expected(LongReadEstimate.maximum))
    }
}
