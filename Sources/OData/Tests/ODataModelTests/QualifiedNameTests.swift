import ODataModel
import Testing

@Suite
struct QualifiedNameTests {
    @Test func `is split at its last dot`() {
        let name = QualifiedName("Org.OData.Core.V1.Messages")
        #expect(name.namespace == "Org.OData.Core.V1")
        #expect(name.name == "Messages")
        #expect(name.description == "Org.OData.Core.V1.Messages")
    }

    @Test func `needs no namespace`() {
        #expect(QualifiedName("Product") == QualifiedName(namespace: nil, name: "Product"))
    }
}
