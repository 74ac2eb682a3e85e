import AdapterKit
import Testing

@Test func `AdapterKit alone brings the value tree`() {
    #expect(WireValue.dictionary(["a": 1])["a"] == 1)
}
