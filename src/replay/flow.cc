#include "replay/flow.h"

#include <algorithm>

namespace deadheat::replay {

// --- Memory

LabelledMemory::Page* LabelledMemory::find(std::uint64_t number) {
  const auto found = pages_.find(number);
  return found == pages_.end() ? nullptr : found->second.get();
}

template <class Visit>
void LabelledMemory::for_pages(Address address, std::uint64_t size, Visit&& visit) {
  const std::uint64_t end = address.value() + std::min(size, ~std::uint64_t{0} - address.value());
  for (std::uint64_t at = address.value(); at < end;) {
    const std::uint64_t first = at % kPageBytes;
    const std::uint64_t count = std::min(end - at, kPageBytes - first);
    visit(at / kPageBytes, first, count, at);
    at += count;
  }
}

Label LabelledMemory::read(Address address, std::uint64_t value, std::uint32_t size) {
  Label label;
  if (pages_.empty()) return label;
  for (std::uint32_t i = 0; i < size; ++i) {
    const std::uint64_t at = address.value() + i;
    const Page* const page = find(at / kPageBytes);
    if (page == nullptr) continue;
    const std::uint64_t in = at % kPageBytes;
    if (page->is_any[in] || page->bytes[in] == static_cast<std::uint8_t>(value >> (8 * i)))
      label = labels_.join(label, page->labels[in]);
  }
  return label;
}

void LabelledMemory::write(Address address, std::uint64_t value, std::uint32_t size, Label label) {
  if (label == Label() && pages_.empty()) return;
  for (std::uint32_t i = 0; i < size; ++i) {
    const std::uint64_t at = address.value() + i;
    Page* page = find(at / kPageBytes);
    if (page == nullptr) {
      if (label == Label()) continue;
      page = (pages_[at / kPageBytes] = std::make_unique<Page>()).get();
    }
    const std::uint64_t in = at % kPageBytes;
    page->labels[in] = label;
    page->bytes[in] = static_cast<std::uint8_t>(value >> (8 * i));
    page->is_any.reset(in);
  }
}

Label LabelledMemory::read_range(Address address, std::uint64_t size) {
  Label label;
  if (pages_.empty()) return label;
  for_pages(address, size,
            [&](std::uint64_t number, std::uint64_t first, std::uint64_t count, std::uint64_t) {
              const Page* const page = find(number);
              if (page == nullptr) return;
              for (std::uint64_t i = first; i < first + count; ++i)
                label = labels_.join(label, page->labels[i]);
            });
  return label;
}

void LabelledMemory::write_range(Address address, std::uint64_t size, Label label) {
  if (label == Label() && size / kPageBytes > pages_.size()) return clear(address, size);
  for_pages(address, size,
            [&](std::uint64_t number, std::uint64_t first, std::uint64_t count, std::uint64_t) {
              Page* page = find(number);
              if (page == nullptr) {
                if (label == Label()) return;
                page = (pages_[number] = std::make_unique<Page>()).get();
              }
              for (std::uint64_t i = first; i < first + count; ++i) {
                page->labels[i] = label;
                page->is_any.set(i);
              }
            });
}

// A mapping may be far larger than what has labels.
void LabelledMemory::clear(Address address, std::uint64_t size) {
  for (auto& [number, page] : pages_)
    for (std::uint64_t i = 0; i < kPageBytes; ++i)
      if (number * kPageBytes + i - address.value() < size) page->labels[i] = Label();
}

void LabelledMemory::copy(Address to, Address from, std::uint64_t size) {
  if (pages_.empty() || to == from) return;
  // Piece by piece, from the end if the start would be overwritten first.
  const bool is_backwards = to > from;
  for (std::uint64_t done = 0; done < size;) {
    const std::uint64_t count = std::min(size - done, kPageBytes);
    const std::uint64_t at = is_backwards ? size - done - count : done;
    copy_piece(Address(to.value() + at), Address(from.value() + at), count);
    done += count;
  }
}

void LabelledMemory::copy_piece(Address to, Address from, std::uint64_t size) {
  struct Byte {
    Label label;
    std::uint8_t value = 0;
    bool is_any = false;
  };
  std::array<Byte, kPageBytes> bytes{};
  bool has_labels = false;
  for_pages(from, size,
            [&](std::uint64_t number, std::uint64_t first, std::uint64_t count, std::uint64_t at) {
              const Page* const page = find(number);
              if (page == nullptr) return;
              has_labels = true;
              for (std::uint64_t i = 0; i < count; ++i)
                bytes[at - from.value() + i] = {page->labels[first + i], page->bytes[first + i],
                                                page->is_any[first + i]};
            });
  if (!has_labels) return write_range(to, size, Label());
  for (std::uint64_t i = 0; i < size; ++i) {
    const Address at(to.value() + i);
    if (bytes[i].is_any)
      write_range(at, 1, bytes[i].label);
    else
      write(at, bytes[i].value, 1, bytes[i].label);
  }
}

// --- Accesses and calls

void Flow::access(DhReplay& hot, Access access, const std::vector<Observer*>& observers) {
  DhLabels& here = hot.labels;
  const bool is_copy = here.rule == kDhLabelCopy;
  access.address_label = Label(access.is_write ? here.to : here.from);
  if (access.is_write) {
    access.label = is_copy                       ? Label(here.read)
                   : here.rule == kDhLabelUpdate ? labels.join(Label(here.operand), Label(here.read))
                                                 : Label(here.operand);
    memory_.write(access.address, access.value, access.size, access.label);
  } else {
    access.label = labels.join(memory_.read(access.address, access.value, access.size), access.address_label);
    Label sources;
    for (Observer* observer : observers) sources = labels.join(sources, observer->source_of(access));
    access.label = labels.join(access.label, sources);
    here.read = (is_copy ? access.label : labels.join(Label(here.read), access.label)).value();
  }
  for (Observer* observer : observers) observer->on_access(access);
}

void Flow::begin_call(DhReplay& hot, ThreadId thread, SiteId site, Address target,
                      const std::vector<Observer*>& observers) {
  std::array<Label, kDhMaxLabels> given;
  const std::size_t count = std::min<std::size_t>(hot.labels.count, given.size());
  Label all;
  for (std::size_t i = 0; i < count; ++i) {
    given[i] = Label(hot.labels.arguments[i]);
    all = labels.join(all, given[i]);
  }
  calls_[thread].push_back({all, Address(), Address()});
  if (all == Label()) return;
  for (Observer* observer : observers)
    observer->on_labelled_call(thread, site, target, std::span(given.data(), count));
}

void Flow::end_call(DhReplay& hot, ThreadId thread) {
  std::vector<Call>& open = calls_[thread];
  hot.labels.result = open.back().label.value();
  open.pop_back();
}

Flow::Call* Flow::open_call(ThreadId thread) {
  const auto found = calls_.find(thread);
  return found == calls_.end() || found->second.empty() ? nullptr : &found->second.back();
}

Label Flow::begin_callback(ThreadId thread) {
  if (const Call* const call = open_call(thread)) return call->label;
  const auto start = starts_.find(thread);
  if (start == starts_.end()) return Label();
  const Label label = start->second;
  starts_.erase(start);
  return label;
}

void Flow::end_callback(const DhReplay& hot, ThreadId thread) {
  if (Call* const call = open_call(thread)) call->label = labels.join(call->label, Label(hot.labels.result));
}

void Flow::on_library_access(ThreadId thread, SiteId, const recording::LibraryAccess& access) {
  Call* const call = open_call(thread);
  if (call == nullptr) return;
  if (access.kind == recording::AccessKind::kRead)
    call->label = labels.join(call->label, memory_.read_range(access.address, access.size));
  else if (access.address != call->moved)
    memory_.write_range(access.address, access.size, call->label);
}

void Flow::on_sequencer(ThreadId thread, SiteId, const recording::Sequencer& sequencer) {
  Call* const call = open_call(thread);
  switch (sequencer.kind) {
    case recording::SequencerKind::kFreeing:
      if (call != nullptr) call->freed = sequencer.object;
      return;
    case recording::SequencerKind::kAllocated:
      // A block that ends and another one in the same call: realloc has moved it, and writes it next.
      if (call != nullptr && call->freed != Address()) {
        memory_.copy(sequencer.object, call->freed, sequencer.extra);
        call->moved = sequencer.object;
        call->freed = Address();
        return;
      }
      return memory_.write_range(sequencer.object, sequencer.extra, Label());
    case recording::SequencerKind::kMapped:
      return memory_.write_range(sequencer.object, sequencer.extra, Label());
    case recording::SequencerKind::kThreadCreated:
      if (call != nullptr) starts_[sequencer.other_thread()] = call->label;
      return;
    default:
      return;
  }
}

void Flow::on_local(ThreadId, SiteId, Address address, std::uint64_t size) {
  memory_.write_range(address, size, Label());
}

}  // namespace deadheat::replay
