package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/store"
)

// maxChange bounds the body of a change of a task, in bytes.
const maxChange = 8 << 10

// Tasks returns a page of a business's tasks, the first due first, and where
// the next page begins.
func (s *Server) Tasks(ctx context.Context, slug string, q store.TaskQuery) ([]store.Task, string, error) {
	st, _, err := s.rows(ctx, slug)
	if err != nil {
		return nil, "", err
	}
	return st.Tasks(ctx, q)
}

// ChangeTask has somebody take a task, or end it.
func (s *Server) ChangeTask(ctx context.Context, slug, id, owner string, to store.TaskState) (task store.Task, err error) {
	st, tenantID, err := s.rows(ctx, slug)
	if err != nil {
		return task, err
	}
	now := s.cfg.Clock.Now()
	err = fault.E(fault.Invalid, "A task becomes taken or done.")
	switch to {
	case store.TaskTaken:
		task, err = st.TakeTask(ctx, id, owner, now)
	case store.TaskDone:
		task, err = st.DoneTask(ctx, id, owner, now)
	case store.TaskOpen:
	}
	if err == nil {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "task.changed", slog.String("tenant_id", string(tenantID)),
			slog.String("task_id", task.ID), slog.String("kind", task.Kind), slog.String("state", string(task.State)))
	}
	return task, err
}

// rows are a registered business's own, whether or not it is served.
func (s *Server) rows(ctx context.Context, slug string) (*store.Tenant, ids.TenantID, error) {
	reg, err := s.store.Find(ctx, slug)
	if err != nil {
		return nil, "", err
	}
	st, err := s.store.Tenant(reg.Tenant.ID, reg.Tenant.App)
	return st, reg.Tenant.ID, err
}

// taskRoutes are the operator's HTTP API for tasks.
func (s *Server) taskRoutes(mux *http.ServeMux) {
	mux.Handle("GET /api/tenants/{slug}/tasks", s.operator(s.httpTasks))
	mux.Handle("POST /api/tenants/{slug}/tasks/{id}", s.operator(s.httpChangeTask))
}

// taskPage is a page of tasks on the wire.
type taskPage struct {
	Tasks []store.Task `json:"tasks"`
	Next  string       `json:"next,omitempty"`
	Code  fault.Code   `json:"code,omitempty"`
	Error string       `json:"error,omitempty"`
}

// taskChange is a change of a task on the wire.
type taskChange struct {
	State store.TaskState `json:"state"`
	Owner string          `json:"owner"`
}

func (s *Server) httpTasks(w http.ResponseWriter, r *http.Request) {
	v := r.URL.Query()
	q := store.TaskQuery{State: store.TaskState(v.Get("state")), Kind: v.Get("kind"), Owner: v.Get("owner"), After: v.Get("after")}
	if l := v.Get("limit"); l != "" {
		n, err := strconv.Atoi(l)
		if err != nil || n < 1 {
			problem(w, fault.E(fault.Invalid, "limit: want a number of tasks."))
			return
		}
		q.Limit = n
	}
	page, next, err := s.Tasks(r.Context(), r.PathValue("slug"), q)
	if err != nil {
		problem(w, err)
		return
	}
	asJSON(w, http.StatusOK, taskPage{Tasks: page, Next: next})
}

func (s *Server) httpChangeTask(w http.ResponseWriter, r *http.Request) {
	var c taskChange
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxChange))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			problem(w, fault.E(fault.TooLarge, "The body is too large."))
			return
		}
		problem(w, fault.E(fault.Invalid, `The body must be {"state":"taken" or "done","owner":"NAME"}.`))
		return
	}
	task, err := s.ChangeTask(r.Context(), r.PathValue("slug"), r.PathValue("id"), c.Owner, c.State)
	if err != nil {
		problem(w, err)
		return
	}
	asJSON(w, http.StatusOK, task)
}

// askedTask is what a command asks about tasks.
type askedTask struct {
	Slug  string          `json:"slug"`
	Query store.TaskQuery `json:"query,omitzero"`
	ID    string          `json:"id,omitempty"`
	taskChange
}

// taskControl are the commands about tasks, on the control socket.
func (s *Server) taskControl(mux *http.ServeMux) {
	serve := func(do func(ctx context.Context, a askedTask) (taskPage, error)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			var a askedTask
			err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxChange)).Decode(&a)
			var out taskPage
			if err == nil {
				out, err = do(r.Context(), a)
			}
			status := http.StatusOK
			if err != nil {
				out.Code, out.Error, status = fault.CodeOf(err), err.Error(), http.StatusUnprocessableEntity
			}
			asJSON(w, status, out)
		}
	}
	mux.HandleFunc("POST /tasks/list", serve(func(ctx context.Context, a askedTask) (out taskPage, err error) {
		out.Tasks, out.Next, err = s.Tasks(ctx, a.Slug, a.Query)
		return out, err
	}))
	mux.HandleFunc("POST /tasks/change", serve(func(ctx context.Context, a askedTask) (taskPage, error) {
		task, err := s.ChangeTask(ctx, a.Slug, a.ID, a.Owner, a.State)
		return taskPage{Tasks: []store.Task{task}}, err
	}))
}

// Tasks is Server.Tasks.
func (r *Remote) Tasks(ctx context.Context, slug string, q store.TaskQuery) ([]store.Task, string, error) {
	out, err := r.tasks(ctx, "/tasks/list", askedTask{Slug: slug, Query: q})
	return out.Tasks, out.Next, err
}

// ChangeTask is Server.ChangeTask.
func (r *Remote) ChangeTask(ctx context.Context, slug, id, owner string, to store.TaskState) (store.Task, error) {
	out, err := r.tasks(ctx, "/tasks/change", askedTask{Slug: slug, ID: id, taskChange: taskChange{to, owner}})
	if err != nil || len(out.Tasks) != 1 {
		return store.Task{}, err
	}
	return out.Tasks[0], nil
}

func (r *Remote) tasks(ctx context.Context, path string, a askedTask) (out taskPage, err error) {
	raw, err := json.Marshal(a)
	if err != nil {
		return out, fmt.Errorf("encode request: %w", err)
	}
	err = r.post(ctx, path, bytes.NewReader(raw), func(a reply) error {
		if err := json.NewDecoder(a.body).Decode(&out); err != nil {
			return fmt.Errorf("read the serving process's answer: %w", err)
		}
		return nil
	})
	return out, err
}
