import AdapterKit
import Gateway

/// An adapter that is compiled into a host. It runs in the gateway's process, with the gateway's rights.
public struct CompiledAdapter: Sendable {
    let module: any AdapterModule.Type
    /// Of the package that it comes from, as `--version` and `status` show it.
    let version: String
    /// Pages for browsers, served while the adapter is.
    let pages: [PageFile]
    /// Whether `init` proposes it: it needs no settings and no other system.
    let isProposed: Bool
    /// What the adapter cannot offer of what a configuration asks for.
    let limitations: @Sendable (AdapterConfiguration) throws -> [String]

    var name: AdapterName { module.name }

    /// `version`: of the package that it comes from. `pages` are served while it is. `isProposed`: it needs no settings and no
    /// other system, and `init` proposes to serve it. `limitations`: what it cannot offer of what a configuration asks for, one
    /// sentence each; `portico check` and a start's log show them as warnings.
    public init(
        _ module: any AdapterModule.Type, version: String, pages: [PageFile] = [], isProposed: Bool = false,
        limitations: @escaping @Sendable (AdapterConfiguration) throws -> [String] = { _ in [] }
    ) {
        self.module = module
        self.version = version
        self.pages = pages
        self.isProposed = isProposed
        self.limitations = limitations
    }
}
