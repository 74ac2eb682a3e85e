import AdapterKit
import AdapterProtocol
import BuiltInAdapters
import Testing

@testable import Host

@Suite struct ReservedNamesTests {
    @Test func `no worker and no package has a name below which the host keeps records, or which its log has`() {
        let reserved = AdapterProtocolVersion.reservedNames
        #expect(HostPlan.reservedNames.subtracting(reserved) == [])
        #expect(HostLogs.ownModules.union([HostLogs.general]).subtracting(reserved.map(\.text)) == [])
        #expect(reserved.isDisjoint(with: BuiltInAdapters.all.map(\.name)))
    }
}
