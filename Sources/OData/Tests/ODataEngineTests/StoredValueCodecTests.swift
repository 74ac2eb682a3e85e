import AdapterKit
import ODataEngine
import ODataModel
import Testing

@Suite
struct StoredFormTests {
    @Test(arguments: [
        (PrimitiveType.duration, "P1D", "P1D"), (.duration, "PT36H", "P1DT12H"), (.duration, "-PT0.500S", "-PT0.5S"),
        (.duration, "P0D", "PT0S"), (.timeOfDay, "09:30", "09:30:00"), (.timeOfDay, "09:30:00.120", "09:30:00.12"),
        (.guid, "0A0B0C0D-0000-0000-0000-00000000000F", "0a0b0c0d-0000-0000-0000-00000000000f"),
        (.decimal, "12.50", "12.50"), (.single, "3.14", "3.14"), (.double, "INF", "INF"),
        (.dateTimeOffset, "2024-01-15T10:30:00+02:00", "2024-01-15T08:30:00Z"),
        (.dateTimeOffset, "2024-01-15T10:30Z", "2024-01-15T10:30:00Z"), (.binary, "dGVzdA", "dGVzdA"),
        (.byte, "255", "255"), (.date, "2024-02-29", "2024-02-29"),
    ])
    func `a text comes back in its canonical spelling`(type: PrimitiveType, text: String, canonical: String) throws {
        let value = try #require(StoredValueCodec.value(text: text, type))
        #expect(StoredValueCodec.text(of: value, type) == canonical)
    }

    @Test(arguments: [
        (PrimitiveType.byte, "256"), (.guid, "0a0b0c0d"), (.date, "2023-02-29"), (.duration, "P"), (.duration, "PT"),
        (.duration, "P1H"), (.timeOfDay, "25:00"), (.dateTimeOffset, "2024-01-15T10:30:00"), (.boolean, "TRUE"),
    ])
    func `what is none of the type's is refused`(type: PrimitiveType, text: String) {
        #expect(StoredValueCodec.value(text: text, type) == nil)
    }
}
