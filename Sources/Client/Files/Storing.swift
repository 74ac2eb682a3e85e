/// Runs something on the files; its errors are the app's to know as ``ClientError/storage(_:)``.
func storing<Result>(_ work: () throws -> Result) throws -> Result {
    do {
        return try work()
    } catch let error as ClientError {
        throw error
    } catch {
        throw ClientError.storage("\(error)")
    }
}
