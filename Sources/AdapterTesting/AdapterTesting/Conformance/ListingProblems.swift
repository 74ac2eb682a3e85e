import AdapterKit

/// What people find on the front page leads somewhere and is told in words.
enum ListingProblems {
    static func all(of host: TestHost) async -> [String] {
        do {
            return try await host.adapter.listings().flatMap(problems)
        } catch {
            return ["its listings fail: \(error)"]
        }
    }

    private static func problems(_ listing: Listing) -> [String] {
        var problems: [String] = []
        if !listing.path.hasPrefix("/") { problems.append("the listing's path \(listing.path) does not begin with /") }
        if listing.title.isEmpty || listing.summary.isEmpty {
            problems.append("the listing of \(listing.path) lacks a title or a summary")
        }
        return problems
    }
}
