import type { FastifyInstance } from 'fastify';
import { addConsolePages } from './pages.ts';
import { addConsoleSession, type ConsoleOptions } from './session.ts';

/** The console: its sessions and its files. All else it does through the API. */
export function addConsole(app: FastifyInstance, options: ConsoleOptions): void {
  addConsoleSession(app, options);
  addConsolePages(app);
}
