import AdapterKit
import Gateway

/// A change of one adapter that is installed, or is to be.
struct Deployment: Sendable {
    let name: AdapterName
    /// For the audit log: a verb and a version.
    let summary: String
    /// What is installed afterwards.
    let packages: @Sendable (InstalledReleases) -> InstalledReleases
    /// It goes back to what was before: the operator has to accept what is hidden by it.
    var hidesNothing = false
    /// Whether other adapters' collections may get other names by it, unless the operator accepts that.
    var mayRename = false
    /// Whether keys of the adapter that nothing takes then are left aside, with a warning. Otherwise they refuse it.
    var ignoresUnread = false
    let request: DeploymentRequest
    /// Makes it last beyond a restart. Called when everything is started and nothing is exchanged.
    let commit: @Sendable () async throws -> Void
}
