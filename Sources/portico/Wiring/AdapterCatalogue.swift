import AdapterKit
import Chat
import EmployeeSearch
import ODataAdapter
import PlistFeeds
import XMLUsers

/// The adapters that come with the host, one line each.
enum AdapterCatalogue {
    static let builtIn: [any AdapterModule.Type] = [
        PlistFeedsModule.self,
        EmployeeSearchModule.self,
        XMLUsersModule.self,
        ChatModule.self,
        ODataModule.self,
    ]
}
