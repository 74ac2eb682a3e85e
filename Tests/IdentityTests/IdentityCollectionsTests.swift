import AdapterKit
import Identity
import RecordStorage
import Testing

@Suite struct IdentityCollectionsTests {
    @Test func `no stored record can lack a field that it is read by`() {
        for entity in Identity.collections().map(\.entity) {
            for field in entity.fields {
                #expect(field.isRequired || field.isNullable, "\(entity.name) \(field.name)")
            }
        }
    }

    @Test func `no caller, adapter or device reaches what is stored`() {
        for entity in Identity.collections().map(\.entity) {
            #expect(entity.rows == RowRules(read: .nobody, write: .nobody), "\(entity.name)")
            #expect(entity.writers == .nobody && entity.exposure == .adapterOnly, "\(entity.name)")
        }
    }
}
