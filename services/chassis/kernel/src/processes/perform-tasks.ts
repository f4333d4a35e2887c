/** Called in the module of a task process: performs each task that `startTaskProcess` sends, and ends with the service. */
export function performTasks<Task, Answer>(perform: (task: Task) => Answer | Promise<Answer>): void {
  // A terminal sends its signals to all processes of a command. This process must live until its service closes the channel.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  process.on('disconnect', () => process.exit());
  process.on('message', async (task: Task) => process.send?.(await perform(task)));
  process.send?.('ready');
}
