/// The gateway's services, typed: `session.employees.search(name: "Jo")`.
extension Session {
    public nonisolated var employees: EmployeeDirectory { EmployeeDirectory(self) }
    public nonisolated var users: UserDirectory { UserDirectory(self) }
    public nonisolated var feeds: FeedService { FeedService(self) }
    public nonisolated var notes: NoteService { NoteService(self) }
}
