import AdapterKit

/// Checks an adapter against the rules that every adapter must keep.
///
/// ```swift
/// @Test func `the adapter conforms`() async {
///     let conformance = AdapterConformance(UsersModule.self, examples: [.init("user", ["userId": 101])])
///     #expect(await conformance.problems() == [])
/// }
/// ```
/// It answers problems as texts instead of recording issues, so that it works under every test framework and is itself
/// tested with adapters that break a rule.
public struct AdapterConformance {
    /// An input that an operation answers, with the sample records loaded.
    public struct Example: Sendable {
        public let operation: OperationName
        public let input: WireDictionary
        public let caller: Principal
        /// Calls made before, for an operation that needs what they leave behind.
        public let preparation: [Example]

        public init(
            _ operation: OperationName, _ input: WireDictionary = [:], as caller: Principal = .testUser,
            after preparation: [Example] = []
        ) {
            self.operation = operation
            self.input = input
            self.caller = caller
            self.preparation = preparation
        }
    }

    let module: any AdapterModule.Type
    let configuration: AdapterConfiguration
    let upstream: (any Upstream)?
    let examples: [Example]

    /// `upstream` is what `adapters.{name}.upstream` leads to. The mirrors of it are fetched before anything is called.
    public init(
        _ module: any AdapterModule.Type, configuration: AdapterConfiguration = AdapterConfiguration(),
        upstream: (any Upstream)? = nil, examples: [Example]
    ) {
        self.module = module
        self.configuration = configuration
        self.upstream = upstream
        self.examples = examples
    }

    /// Empty for an adapter that keeps them all.
    public func problems() async -> [String] {
        do {
            let declaration = try module.declare(configuration)
            var problems = declaration.problems(of: module).map(\.description)
            guard problems.isEmpty else { return problems }
            problems += try SampleProblems(module.make(configuration).sampleRecords(), for: declaration).all
            guard problems.isEmpty else { return problems }
            let host = try await TestHost(module, configuration, withSamples: true, upstream: upstream)
            if upstream != nil { try await host.refreshMirrors() }
            problems += try await CallProblems(self, declaration, host).all()
            if problems.isEmpty {
                problems += try await RecordFaultProblems(declaration, examples) { faults in
                    try await host.again(module, configuration, faults: faults)
                }.all()
            }
            problems += try await ConflictProblems(declaration: declaration, host: host).all()
            problems += try await RuleProblems(declaration: declaration, host: host).all()
            problems += await FrontPageProblems.all(of: host)
            await host.stop()
            return problems
        } catch {
            return ["it does not start: \(error)"]
        }
    }
}

/// Every entry of the front page has a title, a text and a path that is served.
enum FrontPageProblems {
    static func all(of host: TestHost) async -> [String] {
        do {
            return try await host.adapter.frontPageEntries().flatMap(problems)
        } catch {
            return ["its listings fail: \(error)"]
        }
    }

    private static func problems(_ listing: FrontPageEntry) -> [String] {
        var problems: [String] = []
        if !listing.path.hasPrefix("/") { problems.append("the listing's path \(listing.path) does not begin with /") }
        if listing.title.isEmpty || listing.summary.isEmpty {
            problems.append("the listing of \(listing.path) lacks a title or a summary")
        }
        return problems
    }
}
