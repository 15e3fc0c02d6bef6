#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

namespace collsim {

/// Goes through a list that makes its items when they are looked at.
template <typename List>
class ListIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = typename List::value_type;
  using difference_type = std::ptrdiff_t;
  using pointer = const value_type*;
  using reference = value_type;

  ListIterator(List list, std::uint32_t place) : list_(list), place_(place) {}
  value_type operator*() const { return list_[place_]; }
  ListIterator& operator++() {
    ++place_;
    return *this;
  }
  ListIterator operator++(int) {
    const ListIterator before = *this;
    ++place_;
    return before;
  }
  bool operator==(const ListIterator& other) const { return place_ == other.place_; }

 private:
  List list_;
  std::uint32_t place_;
};

/// Ids that a node's part of a machine has: numbers in its template, which count from the id of the
/// node's first, then ids of the fabric. Refers to the topology.
class IdList {
 public:
  using value_type = std::uint32_t;

  IdList(std::span<const std::uint32_t> numbers, std::uint32_t first,
         std::span<const std::uint32_t> of_fabric)
      : numbers_(numbers), of_fabric_(of_fabric), first_(first) {}
  std::size_t size() const { return numbers_.size() + of_fabric_.size(); }
  bool empty() const { return size() == 0; }
  std::uint32_t operator[](std::size_t place) const {
    return place < numbers_.size() ? first_ + numbers_[place] : of_fabric_[place - numbers_.size()];
  }
  ListIterator<IdList> begin() const { return {*this, 0}; }
  ListIterator<IdList> end() const { return {*this, static_cast<std::uint32_t>(size())}; }

 private:
  std::span<const std::uint32_t> numbers_;
  std::span<const std::uint32_t> of_fabric_;
  std::uint32_t first_;
};

/// All devices, links or shared resources of a topology, in the order of their ids; `At` is the
/// member function that makes one. Refers to the topology.
template <typename Owner, typename Item, Item (Owner::*At)(std::uint32_t) const>
class ItemList {
 public:
  using value_type = Item;

  ItemList(const Owner& owner, std::size_t size)
      : owner_(&owner), size_(static_cast<std::uint32_t>(size)) {}
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Item operator[](std::size_t place) const {
    return (owner_->*At)(static_cast<std::uint32_t>(place));
  }
  ListIterator<ItemList> begin() const { return {*this, 0}; }
  ListIterator<ItemList> end() const { return {*this, size_}; }

 private:
  const Owner* owner_;
  std::uint32_t size_;
};

}  // namespace collsim
