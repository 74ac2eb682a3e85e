import AdapterKit
import ODataEngine
import Testing

/// Filters of a few hundred bytes whose operands stand for each other.
@Suite(.sharedSchool, .timeLimit(.minutes(5))) struct RepeatedOperandTests {
    private func isTooLarge(_ filter: String) async throws -> Bool {
        let school = try await School.current
        do {
            _ = try school.plan("Students?$filter=\(filter)")
            return false
        } catch {
            return (error as? QueryProblem)?.kind == .limitExceeded
        }
    }

    /// `text` with itself put into it in place of `$`, so many times.
    private func nested(_ text: String, in innermost: String, levels: Int) -> String {
        (0..<levels).reduce(innermost) { inner, _ in text.replacing("$", with: inner) }
    }

    @Test func `a beginning of a beginning is answered`() async throws {
        let few = nested("case(startswith($,'A'):'A')", in: "Name", levels: 6)
        #expect(try await School.current.column("ID", "Students?$filter=startswith(\(few),'A')") == [1])
        let many = nested("case(startswith($,'A'):'A')", in: "Name", levels: 30)
        // As deep as SQLite goes or not: either way at once.
        do { _ = try await School.current.page("Students?$filter=startswith(\(many),'A')") } catch let error
            as PorticoError
        {
            #expect(error.code == .requestLimitExceeded)
        }
    }

    @Test func `what is looked for in a list counts for each member that is null`() async throws {
        let text = "case($ in ('A',null,null):'A')"
        #expect(try await !isTooLarge("\(nested(text, in: "Name", levels: 3)) eq 'A'"))
        #expect(try await isTooLarge("\(nested(text, in: "Name", levels: 24)) eq 'A'"))
    }

    @Test func `flags that are looked for count twice`() async throws {
        let text = "case(State has $:$)"
        #expect(try await !isTooLarge("\(nested(text, in: "State", levels: 3)) eq State"))
        let hidden = (0..<24).reduce("State") { inner, _ in "case(State has \(inner):State)" }
        #expect(try await isTooLarge("\(hidden) eq State"))
    }
}
