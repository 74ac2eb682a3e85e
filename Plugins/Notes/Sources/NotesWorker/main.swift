import AdapterWorker
import Notes

AdapterWorkerProgram.run(NotesModule.self, version: "1.0.0")
