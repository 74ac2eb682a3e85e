// wire-differential generate FORMAT SEED VALUES FOLDER
//     writes FOLDER/FORMAT.frames, documents of 500 generated values each, and FOLDER/FORMAT.expected, a line of tagged
//     values for each document, which no other reader of ours is needed to understand
// wire-differential generate-plain FORMAT SEED VALUES FOLDER
//     the same without uids, which not every peer takes
// wire-differential tag FORMAT SEED VALUES FILE
//     reads documents that another implementation wrote and writes FILE.tagged, a line of tagged values for each
//
// One process handles all values. compare.py beside this file drives it.

let arguments = CommandLine.arguments
guard arguments.count == 6, let plan = Plan(format: arguments[2], seed: arguments[3], values: arguments[4]) else {
    fail("usage: wire-differential generate|generate-plain|tag FORMAT SEED VALUES FOLDER|FILE")
}
do {
    switch arguments[1] {
    case "generate": try generate(plan, into: arguments[5])
    case "generate-plain": try generate(plan.withoutUIDs, into: arguments[5])
    case "tag": try tag(plan, arguments[5])
    default: fail("an unknown command: \(arguments[1])")
    }
} catch {
    fail("\(error)")
}
