// The adapter as a program, which the gateway starts and restarts.
import AdapterWorker
import Weather

AdapterWorkerProgram.run(WeatherModule.self)
