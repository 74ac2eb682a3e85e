import AdapterKit
import AdapterProtocol
import Testing

@testable import portico

@Suite struct ReservedNamesTests {
    @Test func `no worker and no package has a name below which the host keeps records, or which its log has`() {
        let reserved = AdapterProtocolVersion.reservedNames
        #expect(AdapterCatalogue.reserved.subtracting(reserved) == [])
        #expect(HostLogs.ownModules.union([HostLogs.general]).subtracting(reserved.map(\.text)) == [])
        #expect(reserved.isDisjoint(with: AdapterCatalogue.builtIn.map { $0.name }))
    }
}
