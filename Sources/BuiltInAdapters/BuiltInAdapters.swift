import Chat
import ChatPage
import EmployeeSearch
import Host
import ODataAdapter
import ODataReference
import PlistFeeds
import XMLUsers

/// The adapters that come with Portico, for a host that compiles them in.
public enum BuiltInAdapters {
    /// Each of them.
    public static let all = [
        CompiledAdapter(PlistFeedsModule.self, version: PorticoRelease.version, isProposed: true),
        CompiledAdapter(EmployeeSearchModule.self, version: PorticoRelease.version),
        CompiledAdapter(XMLUsersModule.self, version: PorticoRelease.version),
        CompiledAdapter(
            ChatModule.self, version: PorticoRelease.version, pages: ChatPageFiles.all, isProposed: true),
        CompiledAdapter(
            ODataModule.self, version: PorticoRelease.version, limitations: ODataModule.limitations),
        CompiledAdapter(ODataReferenceModule.self, version: PorticoRelease.version),
    ]
}
