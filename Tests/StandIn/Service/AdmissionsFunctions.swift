import AdapterKit
import GRDB

/// A function of the admissions services. Version 4 has some that are bound; version 2 has function imports alone.
enum AdmissionsFunction: String, CaseIterable, Sendable {
    /// Students of a state's schools; version 4's can be composed.
    case studentsOfState = "StudentsOfState"
    /// The mean of a school's grades; null without any.
    case averageGPA = "AverageGPA"
    /// The names of cities with a beginning.
    case cities = "Cities"
    /// The school with the most students.
    case largestSchool = "LargestSchool"
    /// The address of a student.
    case residence = "Residence"
    /// A student's fellows of the same school, bound to the student.
    case classmates = "Classmates"
    /// A function import with `POST`, an action: the student is active no longer.
    case deactivate = "Deactivate"

    /// As the documents of version 2 have them.
    static let imports2 = """
        <FunctionImport Name="StudentsOfState" ReturnType="Collection(ADMISSIONSCOUNSELOR.Student)" \
        EntitySet="StudentCollection" m:HttpMethod="GET"><Parameter Name="StateCode" Type="Edm.String" Mode="In"/>\
        </FunctionImport>\
        <FunctionImport Name="AverageGPA" ReturnType="Edm.Decimal" m:HttpMethod="GET">\
        <Parameter Name="SchoolID" Type="Edm.Int32" Mode="In"/></FunctionImport>\
        <FunctionImport Name="Cities" ReturnType="Collection(Edm.String)" m:HttpMethod="GET">\
        <Parameter Name="Prefix" Type="Edm.String" Mode="In"/></FunctionImport>\
        <FunctionImport Name="LargestSchool" ReturnType="ADMISSIONSCOUNSELOR.School" EntitySet="SchoolCollection" \
        m:HttpMethod="GET"/>\
        <FunctionImport Name="Residence" ReturnType="ADMISSIONSCOUNSELOR.Address" m:HttpMethod="GET">\
        <Parameter Name="StudentID" Type="Edm.Int32" Mode="In"/></FunctionImport>\
        <FunctionImport Name="Deactivate" ReturnType="ADMISSIONSCOUNSELOR.Student" EntitySet="StudentCollection" \
        m:HttpMethod="POST"><Parameter Name="StudentID" Type="Edm.Int32" Mode="In"/></FunctionImport>
        """

    static let declarations4 = """
        <Function Name="StudentsOfState" IsComposable="true"><Parameter Name="StateCode" Type="Edm.String"/>\
        <ReturnType Type="Collection(ADMISSIONSCOUNSELOR.Student)"/></Function>\
        <Function Name="AverageGPA"><Parameter Name="SchoolID" Type="Edm.Int32"/>\
        <ReturnType Type="Edm.Decimal" Precision="5" Scale="2"/></Function>\
        <Function Name="Cities"><Parameter Name="Prefix" Type="Edm.String"/>\
        <ReturnType Type="Collection(Edm.String)"/></Function>\
        <Function Name="LargestSchool" IsBound="true" EntitySetPath="schools">\
        <Parameter Name="schools" Type="Collection(ADMISSIONSCOUNSELOR.School)"/>\
        <ReturnType Type="ADMISSIONSCOUNSELOR.School"/></Function>\
        <Function Name="Residence" IsBound="true"><Parameter Name="student" Type="ADMISSIONSCOUNSELOR.Student"/>\
        <ReturnType Type="ADMISSIONSCOUNSELOR.Address"/></Function>\
        <Function Name="Classmates" IsBound="true" EntitySetPath="student">\
        <Parameter Name="student" Type="ADMISSIONSCOUNSELOR.Student"/>\
        <ReturnType Type="Collection(ADMISSIONSCOUNSELOR.Student)"/></Function>
        """

    static let imports4 = """
        <FunctionImport Name="StudentsOfState" Function="ADMISSIONSCOUNSELOR.StudentsOfState" EntitySet="Students"/>\
        <FunctionImport Name="AverageGPA" Function="ADMISSIONSCOUNSELOR.AverageGPA"/>\
        <FunctionImport Name="Cities" Function="ADMISSIONSCOUNSELOR.Cities"/>
        """
}

/// A call with what it is bound to and its arguments as they were written.
struct AdmissionsCall {
    let function: AdmissionsFunction
    let bound: (table: AdmissionsTable, key: String?)?
    let arguments: [String: Substring]
    let isCounted: Bool
}

extension AdmissionsRequest {
    /// Nil where the path calls nothing.
    func call() throws -> AdmissionsCall? {
        var path = segments[...]
        var isCounted = false
        if path.last == "$count" {
            isCounted = true
            path.removeLast()
        }
        guard let last = path.popLast() else { return nil }
        var name = last.prefix { $0 != "(" }
        let prefix = "\(AdmissionsDocuments.namespace)."
        let isBound = name.hasPrefix(prefix)
        if isBound { name = name.dropFirst(prefix.count) }
        guard !isVersion2 || !isBound, let function = AdmissionsFunction(rawValue: String(name)) else { return nil }
        guard isBound == (path.count == 1), path.count <= 1 else {
            throw ServiceError.missing("Resource not found for segment '\(last)'")
        }
        if isVersion2 {
            let arguments = request.query.filter { !$0.key.hasPrefix("$") }.mapValues { Substring($0) }
            return AdmissionsCall(function: function, bound: nil, arguments: arguments, isCounted: isCounted)
        }
        return AdmissionsCall(
            function: function, bound: try path.first.map { try target($0) },
            arguments: try arguments(last.dropFirst(isBound ? prefix.count + name.count : name.count)),
            isCounted: isCounted)
    }

    /// `(StateCode='MS')`, or with an alias `(StateCode=@code)`.
    private func arguments(_ text: Substring) throws(ServiceError) -> [String: Substring] {
        guard text.hasPrefix("("), text.hasSuffix(")") else { throw .invalid("A function has parentheses.") }
        var arguments: [String: Substring] = [:]
        var rest = text.dropFirst().dropLast()
        while let sign = rest.firstIndex(of: "=") {
            let name = String(rest[..<sign])
            rest = rest[rest.index(after: sign)...]
            var isQuoted = false
            let end = rest.firstIndex { character in
                if character == "'" { isQuoted.toggle() }
                return character == "," && !isQuoted
            }
            let value = rest[..<(end ?? rest.endIndex)]
            arguments[name] = value.hasPrefix("@") ? request.query[String(value)].map { Substring($0) } : value
            rest = end.map { rest[rest.index(after: $0)...] } ?? ""
        }
        return arguments
    }

    private func argument(
        _ name: String, as column: AdmissionsColumn, _ call: AdmissionsCall
    ) throws -> (any DatabaseValueConvertible)? {
        guard let text = call.arguments[name] else { throw ServiceError.invalid("The parameter \(name) is missing") }
        return try column.argument(literal: text)
    }

    /// The student that the call is about: what it is bound to, or in version 2 a parameter.
    private func student(_ call: AdmissionsCall, _ database: Database) throws -> Row {
        let students = AdmissionsTable.students
        if let bound = call.bound {
            guard bound.table.name == students.name, let key = bound.key else {
                throw ServiceError.missing("\(call.function.rawValue) is bound to a student")
            }
            return try row(key, students, database)
        }
        let key = try argument("StudentID", as: students.keyColumn, call)
        return try row(key.map { "\($0)" } ?? "", students, database)
    }

    func answer(_ call: AdmissionsCall, _ database: Database) throws -> ServiceResponse {
        let students = AdmissionsTable.students
        switch call.function {
        case .studentsOfState:
            let state = try argument("StateCode", as: AdmissionsColumn("StateCode", .text(2)), call)
            let known = try Int.fetchOne(
                database, sql: "SELECT count(*) FROM States WHERE StateCode = ?", arguments: [state])
            guard known == 1 else {
                throw ServiceError(status: 400, code: "ADM/004", message: "There is no such state")
            }
            let among: Condition = (
                "SchoolID IN (SELECT SchoolID FROM Schools WHERE StateCode = ?)", [state]
            )
            return call.isCounted ? try count(students, among, database) : try collection(students, among, database)
        case .averageGPA:
            let school = try argument("SchoolID", as: AdmissionsColumn("SchoolID", .int32), call)
            let mean = try String.fetchOne(
                database,
                sql:
                    "SELECT printf('%.2f', avg(CAST(GPA AS REAL))) FROM Students WHERE SchoolID = ? AND GPA IS NOT NULL HAVING count(*) > 0",
                arguments: [school])
            return value(mean.map { documents.decimal($0) } ?? .null, call)
        case .cities:
            let prefix = try argument("Prefix", as: AdmissionsColumn("Prefix", .text(60)), call)
            let names = try String.fetchAll(
                database,
                sql: "SELECT DISTINCT Address_City FROM Students WHERE instr(Address_City, ?) = 1 ORDER BY 1",
                arguments: [prefix])
            return value(.array(names.map(WireValue.string)), call)
        case .largestSchool:
            guard let schools = AdmissionsTable.named("Schools", isVersion2: false) else { break }
            let found = try Row.fetchOne(
                database,
                sql: """
                    SELECT * FROM Schools ORDER BY
                    (SELECT count(*) FROM Students WHERE Students.SchoolID = Schools.SchoolID) DESC, SchoolID LIMIT 1
                    """)
            guard let found else { return ServiceResponse(204) }
            return try single(found, schools, database)
        case .residence:
            let entity = documents.entity(try student(call, database), students, ["Address"])
            return value(entity["Address"] ?? .null, call)
        case .classmates:
            let row = try student(call, database)
            let among: Condition = (
                "SchoolID = ? AND StudentID <> ?",
                [row["SchoolID"] as DatabaseValue, row["StudentID"] as DatabaseValue]
            )
            return try collection(students, among, database)
        case .deactivate: break
        }
        throw ServiceError(status: 405, code: "method", message: "\(call.function.rawValue) is called with POST")
    }

    /// Function imports that change something.
    func perform(_ call: AdmissionsCall, _ database: Database) throws -> ServiceResponse {
        guard call.function == .deactivate else {
            throw ServiceError(status: 405, code: "method", message: "\(call.function.rawValue) is called with GET")
        }
        let key: Int64 = try student(call, database)["StudentID"]
        let (revision, time) = try AdmissionsRows.next(database)
        try database.execute(
            sql: "UPDATE Students SET Active = 0, ModifiedAt = ?, revision = ? WHERE StudentID = ?",
            arguments: [time, revision, key])
        return try single(try row(String(key), .students, database), .students, database)
    }

    /// A value that is no entity: version 2 has it under the function's name, version 4 as `value`, or as the object itself.
    private func value(_ value: WireValue, _ call: AdmissionsCall) -> ServiceResponse {
        if isVersion2 {
            return .json(["d": value.arrayValue != nil ? ["results": value] : [call.function.rawValue: value]])
        }
        guard !value.isNull else { return ServiceResponse(204) }
        var document = value.dictionaryValue ?? ["value": value]
        document["@odata.context"] = .string("\(documents.root)$metadata#\(call.function.rawValue)")
        return .json(.dictionary(document))
    }
}

extension AdmissionsDocuments {
    /// As a decimal column has it.
    fileprivate func decimal(_ text: String) -> WireValue {
        if version == .version2 || isIEEE754Compatible { return .string(text) }
        return WireDecimal(text).map(WireValue.decimal) ?? .null
    }
}
