import type { FastifyInstance } from 'fastify';
import type { BaseServices, Route } from './route.ts';

export function addReference<S extends BaseServices>(
  _app: FastifyInstance,
  _routes: readonly Route<S>[],
): void {}
