import AdapterKit
import GRDB

/// A property of the admissions services and the column that has it.
struct AdmissionsColumn: Sendable {
    enum Kind: Sendable {
        case text(Int)
        case int32
        case decimal(Int, Int)
        case day, instant, guid, time, flag
        /// A JSON list of texts; version 4 alone has it.
        case texts
    }

    let name: String
    let kind: Kind
    /// Of a complex property: its name, `name` is a member of it then.
    var complex: String?
    var isNullable = true

    /// Its name in SQL.
    var sql: String { complex.map { "\($0)_\(name)" } ?? name }

    init(_ name: String, _ kind: Kind, in complex: String? = nil, isNullable: Bool = true) {
        (self.name, self.kind, self.complex, self.isNullable) = (name, kind, complex, isNullable)
    }
}

/// One set of both services, as one table.
struct AdmissionsTable: Sendable {
    struct Navigation: Sendable {
        enum Kind: Sendable {
            /// The row's column has the other's key.
            case one(String)
            /// The others' column has the row's key.
            case many(String)
            /// Pairs of keys in a table of their own: no property has them.
            case linked(table: String, near: String, far: String)
        }

        let name: String
        let target: String
        let kind: Kind
    }

    /// In SQL; the set of version 4.
    let name: String
    let type: String
    let key: String
    let columns: [AdmissionsColumn]
    let navigations: [Navigation]

    /// The set of version 2.
    var collection: String { "\(type)Collection" }
    var keyColumn: AdmissionsColumn { columns.first { $0.name == key } ?? columns[0] }
    var hasTextKey: Bool { if case .text = keyColumn.kind { true } else { false } }

    func column(_ path: String) -> AdmissionsColumn? {
        let parts = path.split(separator: "/").map(String.init)
        return columns.first { column in
            parts.count == 2
                ? column.complex == parts[0] && column.name == parts[1]
                : column.complex == nil && column.name == path
        }
    }

    static let students = AdmissionsTable(
        name: "Students", type: "Student", key: "StudentID",
        columns: [
            AdmissionsColumn("StudentID", .int32, isNullable: false),
            AdmissionsColumn("FirstName", .text(60), isNullable: false),
            AdmissionsColumn("LastName", .text(60), isNullable: false), AdmissionsColumn("SchoolID", .int32),
            AdmissionsColumn("GPA", .decimal(5, 2)), AdmissionsColumn("Balance", .decimal(20, 4)),
            AdmissionsColumn("BirthDate", .day), AdmissionsColumn("ModifiedAt", .instant, isNullable: false),
            AdmissionsColumn("RecordID", .guid), AdmissionsColumn("CallAt", .time),
            AdmissionsColumn("Active", .flag), AdmissionsColumn("Street", .text(80), in: "Address"),
            AdmissionsColumn("City", .text(60), in: "Address"), AdmissionsColumn("Phones", .texts),
            AdmissionsColumn("FormerCollege", .text(60)),
        ],
        navigations: [
            .init(name: "School", target: "Schools", kind: .one("SchoolID")),
            .init(
                name: "Topics", target: "Topics",
                kind: .linked(table: "StudentTopics", near: "StudentID", far: "TopicID")),
        ])

    static let all: [AdmissionsTable] = [
        AdmissionsTable(
            name: "States", type: "State", key: "StateCode",
            columns: [
                AdmissionsColumn("StateCode", .text(2), isNullable: false), AdmissionsColumn("Name", .text(40)),
            ], navigations: [.init(name: "Schools", target: "Schools", kind: .many("StateCode"))]),
        AdmissionsTable(
            name: "Schools", type: "School", key: "SchoolID",
            columns: [
                AdmissionsColumn("SchoolID", .int32, isNullable: false), AdmissionsColumn("Name", .text(100)),
                AdmissionsColumn("StateCode", .text(2)),
            ],
            navigations: [
                .init(name: "State", target: "States", kind: .one("StateCode")),
                .init(name: "Students", target: "Students", kind: .many("SchoolID")),
            ]),
        students,
        AdmissionsTable(
            name: "Topics", type: "Topic", key: "TopicID",
            columns: [
                AdmissionsColumn("TopicID", .int32, isNullable: false), AdmissionsColumn("Title", .text(60)),
            ], navigations: []),
    ]

    static func named(_ name: String, isVersion2: Bool) -> AdmissionsTable? {
        all.first { (isVersion2 ? $0.collection : $0.name) == name }
    }
}

/// The rows of an admissions office in SQLite, in memory. Each write has the next revision; what goes leaves a tombstone.
final class AdmissionsRows: Sendable {
    /// The most students.
    static let most = 200_000
    private static let topics = ["Art", "Biology", "Chemistry", "Design", "Economics", "Law", "Music", "Physics"]
    private static let states = [
        ("AL", "Alabama"), ("AR", "Arkansas"), ("GA", "Georgia"), ("LA", "Louisiana"), ("MS", "Mississippi"),
        ("TN", "Tennessee"), ("TX", "Texas"),
    ]
    /// 2026-01-01T00:00:00Z, in milliseconds; the time of a write is as many seconds later as its revision.
    private static let start: Int64 = 1_767_225_600_000

    let queue: DatabaseQueue

    init(students: Int, seed: UInt64) throws {
        queue = try DatabaseQueue()
        try queue.write { database in
            try Self.makeTables(database)
            if students > 0 { try Self.fill(database, students, seed) }
        }
    }

    private static func makeTables(_ database: Database) throws {
        for table in AdmissionsTable.all {
            let columns = table.columns.map { column in
                "\(column.sql) \(column.type)\(column.name == table.key ? " PRIMARY KEY" : "")"
            }
            try database.execute(
                sql: "CREATE TABLE \(table.name) (\(columns.joined(separator: ", ")), revision INTEGER NOT NULL)")
            try database.execute(sql: "CREATE INDEX \(table.name)_revision ON \(table.name) (revision)")
        }
        try database.execute(
            sql: """
                CREATE TABLE StudentTopics (StudentID INTEGER, TopicID INTEGER, PRIMARY KEY (StudentID, TopicID));
                CREATE TABLE Tombstones (name TEXT, key TEXT, revision INTEGER, PRIMARY KEY (name, key));
                CREATE TABLE Revision (last INTEGER);
                INSERT INTO Revision VALUES (0)
                """)
    }

    private static func fill(_ database: Database, _ students: Int, _ seed: UInt64) throws {
        for state in states {
            try database.execute(sql: "INSERT INTO States VALUES (?, ?, 0)", arguments: [state.0, state.1])
        }
        for (position, topic) in topics.enumerated() {
            try database.execute(sql: "INSERT INTO Topics VALUES (?, ?, 0)", arguments: [position + 1, topic])
        }
        let schools = students / 100 + 1
        for school in 1...schools {
            try database.execute(
                sql: "INSERT INTO Schools VALUES (?, ?, ?, 0)",
                arguments: [school, "School \(school)", states[school % states.count].0])
        }
        var random = SeededRandom(seed: seed &+ 77)
        let insert = try database.makeStatement(
            sql: "INSERT INTO Students VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)")
        let link = try database.makeStatement(sql: "INSERT INTO StudentTopics VALUES (?, ?)")
        for student in 1...students {
            let draw = Int(random.next() % 1_000_000)
            let isTransfer = student % 10 == 0
            try insert.execute(arguments: [
                student, random.element(of: InventedNames.first), random.element(of: InventedNames.last),
                draw % 20 == 0 ? nil : draw % schools + 1,
                draw % 17 == 0 ? nil : "\(draw % 3 + 1).\(draw % 9 + 1)5",
                // More digits than a double has, and 20 at most.
                "\(draw)1234567890.\(draw % 9_000 + 1_000)",
                "\(2000 + draw % 9)-0\(draw % 9 + 1)-1\(draw % 10)", start - Int64(draw) * 1_000,
                "00000000-0000-4000-8000-\(digits(student, 12))", "0\(draw % 9):15:00", draw % 2,
                "\(draw % 900 + 1) Main Street", draw % 3 == 0 ? nil : "Oxford",
                draw % 4 == 0 ? "[]" : "[\"+1 201 555 01\(10 + draw % 90)\"]",
                isTransfer ? "College \(draw % 40)" : nil,
            ])
            if student % 3 == 0 { try link.execute(arguments: [student, draw % topics.count + 1]) }
        }
    }

    /// With zeros in front.
    private static func digits(_ number: Int, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }

    /// The next revision, and the time of its write.
    static func next(_ database: Database) throws -> (revision: Int64, time: Int64) {
        try database.execute(sql: "UPDATE Revision SET last = last + 1")
        let revision = try self.revision(database)
        return (revision, start + revision * 1_000)
    }

    static func revision(_ database: Database) throws -> Int64 {
        try Int64.fetchOne(database, sql: "SELECT last FROM Revision") ?? 0
    }

    static func bury(_ key: String, of table: AdmissionsTable, _ revision: Int64, _ database: Database) throws {
        try database.execute(
            sql: "INSERT OR REPLACE INTO Tombstones VALUES (?, ?, ?)", arguments: [table.name, key, revision])
    }

    /// Changes so many students as if people had, from the least recently changed on. Returns how many there were.
    func change(_ count: Int, _ kind: SystemOfRecord.Changes.Kind) throws -> Int {
        let table = AdmissionsTable.students
        return try queue.write { database in
            if kind == .add {
                let last = try Int64.fetchOne(database, sql: "SELECT max(StudentID) FROM Students") ?? 0
                for number in 1...Int64(count) {
                    let (revision, time) = try Self.next(database)
                    try database.execute(
                        sql: """
                            INSERT INTO Students (StudentID, FirstName, LastName, GPA, ModifiedAt, Active, Phones, revision)
                            VALUES (?, 'New', ?, '3.50', ?, 1, '[]', ?)
                            """, arguments: [last + number, "Student \(last + number)", time, revision])
                }
                return count
            }
            let found = try Int64.fetchAll(
                database, sql: "SELECT StudentID FROM Students ORDER BY revision, StudentID LIMIT ?", arguments: [count]
            )
            for student in found {
                let (revision, time) = try Self.next(database)
                if kind == .delete {
                    try database.execute(sql: "DELETE FROM Students WHERE StudentID = ?", arguments: [student])
                    try database.execute(sql: "DELETE FROM StudentTopics WHERE StudentID = ?", arguments: [student])
                    try Self.bury(String(student), of: table, revision, database)
                } else {
                    try database.execute(
                        sql: "UPDATE Students SET Balance = ?, ModifiedAt = ?, revision = ? WHERE StudentID = ?",
                        arguments: ["\(revision).25", time, revision, student])
                }
            }
            return found.count
        }
    }

    func count() throws -> Int {
        try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM Students") ?? 0 }
    }
}

extension AdmissionsColumn {
    fileprivate var type: String {
        switch kind {
        case .int32, .instant, .flag: "INTEGER"
        case .text, .decimal, .day, .guid, .time, .texts: "TEXT"
        }
    }
}
