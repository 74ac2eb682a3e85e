import AdapterKit
import ODataEngine
import Testing

@Suite(.sharedSchool) struct FilterTests {
    @Test(
        arguments: [
            ("Name eq 'Ann'", [1]), ("Name ne 'Ann'", [2, 3, 4]), ("Name eq null", [3]), ("Name ne null", [1, 2, 4]),
            ("null eq Name", [3]), ("Name lt 'B'", [1]), ("not (Name lt 'B')", [2, 3, 4]), ("Height le 1.5", [1, 4]),
            ("Height gt null", []), ("Height ge null", []), ("not (Height gt null)", [1, 2, 3, 4]),
            ("GPA eq 3.1", [1, 2]), ("GPA eq 3.10000", [1, 2]), ("GPA gt 12345678901234567890.122", [4]),
            ("GPA gt 12345678901234567890.123", []), ("GPA in (3.1,4)", [1, 2]), ("Name in ('Ann',null)", [1, 3]),
            ("Active", [1, 4]), ("Active eq true", [1, 4]), ("not Active", [2]), ("Active ne true", [2, 3]),
            ("Name eq 'O''Neil ä'", [4]), ("State has S.Flags'Late'", [1]), ("State eq S.Flags'Late,Ill'", [1]),
            ("State eq 'Ill'", [3]), ("State has 'Ill'", [1, 3]), ("Born gt 2000-01-01", [1]),
            ("year(Born) eq 1999", [2]),
            ("Seen eq 2024-01-15T11:30:00.5+01:00", [1]), ("Slept eq duration'PT1H'", [1]), ("Slept lt 'PT2H'", [1]),
            ("Seen add duration'PT1S' gt 2024-01-15T10:30:01Z", [1]), ("totalseconds(Slept) eq 3600", [1]),
            ("fractionalseconds(Seen) eq 0.5", [1]), ("date(Seen) eq 2024-01-15", [1]), ("hour(Seen) eq 10", [1]),
            ("contains(Name,'n')", [1]), ("not contains(Name,'n')", [2, 4]), ("startswith(Name,'A') eq true", [1]),
            ("endswith(Name,'b')", [2]), ("length(Name) eq 3", [1, 2]), ("indexof(Name,'o') eq 1", [2]),
            ("substring(Name,1) eq 'nn'", [1]), ("tolower(Name) eq 'bob'", [2]), ("toupper(Name) eq 'O''NEIL Ä'", [4]),
            ("concat(Name,'!') eq 'Ann!'", [1]), ("matchesPattern(Name,'^[AB].{2}$')", [1, 2]),
            ("ID add 1 eq 3", [2]), ("ID mod 2 eq 0", [2, 4]), ("ID div 2 eq 1", [2, 3]), ("ID divby 2 eq 1.5", [3]),
            ("-ID lt -3", [4]), ("round(Height) eq 2", [1, 2]), ("floor(GPA) eq 3", [1, 2]),
            ("ID mul 1.5 gt 4.4", [3, 4]),
            ("Home/City eq 'Oxford'", [1]), ("Home/City eq null", [2, 3, 4]), ("Home eq null", [3, 4]),
            ("Home/Zip gt 1", [1]), ("Marks/any()", [1, 3]), ("Marks/any(m:m gt 2)", [3]),
            ("Marks/all(m:m lt 3)", [1, 2, 4]), ("Marks/$count eq 3", [1]), ("hassubset(Marks,[2,2])", [1]),
            ("School/Name eq 'North'", [1, 2]), ("School/Name eq null", [4]),
            ("School eq null", [4]), ("School ne null", [1, 2, 3]), ("School/Above/Name eq 'North'", [3]),
            ("School/Students/any(s:s/Name eq 'Bob')", [1, 2]), ("School/Students/all(s:s/ID lt 3)", [1, 2, 4]),
            ("Friends/any(f:f/ID eq 3)", [1]), ("Friends/$count gt 0", [1, 2]),
            ("Friends/any(f:f/Friends/any(g:g/ID eq 1))", [1]), ("Friends/$count($filter=ID eq 2) eq 1", [1]),
            ("isof(S.Guest)", [3]), ("S.Guest/Country eq 'Fiji'", [3]), ("cast(ID,Edm.String) eq '2'", [2]),
            ("case(ID lt 2:'low',true:'high') eq 'low'", [1]), ("ID eq 1 or ID eq 2 and Active", [1]),
            ("now() gt 2001-01-01T00:00:00Z", [1, 2, 3, 4]), ("ID in (1,2,3,4,1,2,3,4,1,2,3,4)", [1, 2, 3, 4]),
            ("Height eq NaN", []), ("Height ne NaN", [1, 2, 3, 4]), ("Height lt INF", [1, 2, 4]), ("State eq 2", [3]),
            ("GPA eq 31e-1", [1, 2]), ("ID lt 99999999999999999999", [1, 2, 3, 4]), ("ID ne 2.5", [1, 2, 3, 4]),
            ("@a eq ID&@a=2", [2]), ("ID in ()", []), ("not (Name in ())", [1, 2, 3, 4]), ("null in ( )", []),
            ("Name eq @b", [3]),
            ("Spot eq geography'SRID=4326;Point(1 2)'", [1]), ("Spot eq geography'SRID=12345;Point(1 2)'", [2]),
            ("$root/Schools(1)/Name eq 'North'", [1, 2, 3, 4]), ("Name eq $root/Students(ID=2)/Name", [2]),
            ("$root/Schools(9)/Name eq null", [1, 2, 3, 4]), ("Mates/any(m:m/ID eq 1)", [1, 2]),
        ] as [(String, [Int64])])
    func `finds what the specification says`(filter: String, expected: [Int64]) async throws {
        let school = try await School.current
        #expect(try await school.students(filter) == expected.map { .int64($0) })
    }

    @Test(arguments: [
        "Nothing eq 1", "Name eq 1", "Name", "ID add 'x' eq 1", "Home eq 1", "School/Students eq null", "ID div 0 eq 1",
        "Name has 'x'", "State eq 'Unknown'", "length(ID) eq 1", "Marks/any(m:m/x eq 1)", "School/Nothing eq 1",
        "S.Nothing/ID eq 1", "Friends/Name eq 'x'", "year(Name) eq 1", "Name gt ID", "Home gt null or Home gt Home",
        "$root/Schools(No=1)/Name eq 'North'", "$root/Schools(ID=1,Name='x')/Name eq 'x'",
        "$root/Schools('x')/Name eq 'x'",
        "$root/Nothing/$count eq 1", "$root/Schools/Name eq 'x'",
    ])
    func `what means nothing is refused before anything is read`(filter: String) async throws {
        let school = try await School.current
        #expect(throws: QueryProblem.self) { try school.plan("Students?$filter=\(filter)") }
    }
}
