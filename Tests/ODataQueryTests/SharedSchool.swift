import Testing

extension School {
    @TaskLocal fileprivate static var shared: School?

    /// The school of the suite (``SharedSchool``), which its tests only read.
    static var current: School {
        get async throws { try #require(shared) }
    }
}

/// One school for all tests of a suite: filling its store takes longer than most questions.
struct SharedSchool: SuiteTrait, TestScoping {
    let make: @Sendable () async throws -> School

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await School.$shared.withValue(make()) { try await function() }
    }
}

extension Trait where Self == SharedSchool {
    static var sharedSchool: Self { SharedSchool { try await School() } }
}
